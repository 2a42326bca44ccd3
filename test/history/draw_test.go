package history

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// drawn draws a history, and checks that the result is XML. ROTA_TEST_PICTURES names a folder for the pictures.
func drawn(t *testing.T, name string, h History) string {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, h, Judge(h)); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, b.String())
		}
	}
	if dir := os.Getenv("ROTA_TEST_PICTURES"); dir != "" {
		files.Write(t, dir+"/"+name+".svg", b.Bytes())
	}
	return b.String()
}

func TestDraw(t *testing.T) {
	h := recorded(t)
	text := drawn(t, "good", h)
	for _, want := range []string{"every promise was kept", "term 1", "term 2", "kill q1", "charge", "report", "late in a fault 1", "12:00:05"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the picture of a good history", want)
		}
	}

	h.Faults = append(h.Faults, Fault{Kind: Pause, Node: "q2 <&>", At: sec(7.5), Until: sec(9)}, Fault{Kind: Outage, At: sec(8)})
	i := effect(t, &h, "charge/"+slotAt(3))
	h.Effects = append(h.Effects[:i:i], h.Effects[i+1:]...)
	i = effect(t, &h, "charge/"+slotAt(4))
	e := h.Effects[i]
	e.Arrived, e.Ended = e.Arrived.Add(100*time.Millisecond), e.Ended.Add(200*time.Millisecond)
	h.Effects = append(h.Effects, e)
	e.Run, e.Arrived, e.Ended = "charge/"+job.SlotID(sec(11.4)), sec(11.4), sec(11.5)
	h.Effects = append(h.Effects, e)
	text = drawn(t, "bad", h)
	for _, want := range []string{"violations", "missed 1", "double effect 1", "What was not kept", "pause q2 &lt;&amp;&gt;", "outage of all", "charge  3✕"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the picture of a bad history", want)
		}
	}
	if strings.Index(text, "charge  ") > strings.Index(text, ">report<") {
		t.Error("the job with violations is not the first")
	}
}

func TestDrawNothing(t *testing.T) {
	if text := drawn(t, "nothing", History{}); !strings.Contains(text, "no slots") {
		t.Error("it does not say that there is nothing")
	}
}

func TestDrawLeavesJobsOut(t *testing.T) {
	h := History{Over: sec(30)}
	for i := range maxRows + 5 {
		name := fmt.Sprintf("job-%02d", i)
		h.Jobs = append(h.Jobs, Job{Name: name, Spec: job.Spec{Every: job.Duration(time.Second)}.WithDefaults(), Effects: true, Tolerance: time.Second, From: began})
		for s := 1; s <= 30; s++ {
			if i != maxRows+3 || s != 12 {
				at := sec(float64(s) + 0.01*float64(i%7))
				h.Effects = append(h.Effects, Effect{Job: name, Arrived: at, Ended: at.Add(200 * time.Millisecond)})
			}
		}
	}
	text := drawn(t, "many", h)
	if !strings.Contains(text, "and 5 more jobs") {
		t.Error("it does not say how many are left out")
	}
	if first := strings.Index(text, "job-43"); first < 0 || first > strings.Index(text, "job-00") {
		t.Error("the job with a violation is not the first")
	}
}

func TestDrawLeavesSlotsOut(t *testing.T) {
	h := bare(nil)
	h.Over = sec(3 * maxSlots)
	if text := drawn(t, "dense", h); len(text) > maxSlots*3*400 || strings.Count(text, "#888888") > 1 {
		t.Errorf("%d bytes: it draws the window of every slot", len(text))
	}
}
