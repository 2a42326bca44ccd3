package page

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// approvals approves one run with the buttons of its page, and rejects another.
func approvals(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	ask := func() (ref string) {
		v, _, err := c.Client.Submit(t.Context(), "asks", api.RunRequest{})
		if err != nil {
			t.Fatal(err)
		}
		cluster.Await(t, 10*time.Second, "the run waits for a person", func() bool {
			v, err = c.Client.Run(t.Context(), v.Ref)
			return err == nil && v.AwaitsApproval()
		})
		return v.Ref
	}
	press := func(name, ref string) {
		t.Helper()
		b.open(base + "/runs/" + ref)
		b.await(10*time.Second, "the button "+name, "[...document.querySelectorAll('.actions a')].some(a => a.textContent.trim() === '"+name+"')")
		if text := b.text("main"); strings.Contains(text, "9999") || !strings.Contains(text, "waits for approval by sre until ") {
			t.Errorf("the page of a run that waits says %.600s", text)
		}
		b.eval("[...document.querySelectorAll('.actions a')].find(a => a.textContent.trim() === '" + name + "').click(); 0")
		b.await(10*time.Second, "the form "+name, "document.querySelector('form.action [name=reason]')")
		if text := b.text("body"); !strings.Contains(text, "These may decide: sre.") {
			t.Errorf("the form names nobody: %.300s", text)
		}
	}
	ref := ask()
	b.open(base + "/")
	b.await(10*time.Second, "the page says what waits", "document.querySelector('main').textContent.includes('"+ref+" waits for approval')")
	confirm := func(note string) {
		t.Helper()
		b.eval("document.querySelector('form.action button').click(); 0")
		b.await(10*time.Second, "the note "+note, "!document.querySelector('form.action') && document.body.textContent.includes('"+note+"')")
	}
	press("Approve", ref)
	confirm("Approved.")
	runIs("/runs/"+ref, job.Succeeded)
	b.open(base + "/runs/" + ref)
	if text := b.text("main"); !strings.Contains(text, "pproved ") || !strings.Contains(text, "until a person approved it") {
		t.Errorf("the page of an approved run says %.600s", text)
	}
	ref = ask()
	press("Reject", ref)
	b.eval("document.querySelector('form.action [name=reason]').value = 'wrong month'; 0")
	confirm("Rejected. The run is skipped.")
	runIs("/runs/"+ref, job.Skipped)
	b.open(base + "/runs/" + ref)
	if text := b.text("main"); !strings.Contains(text, "wrong month") {
		t.Errorf("the page of a rejected run says %.600s", text)
	}
	ref = ask()
	submit(b, base, "/do/reject?job=asks&run="+strings.TrimPrefix(ref, "asks/"), nil)
	if got := b.text(".error"); got == "" {
		t.Error("a rejection without a reason is accepted")
	}
	submit(b, base, "/do/cancel?job=asks&run="+strings.TrimPrefix(ref, "asks/"), nil)
	runIs("/runs/"+ref, job.Canceled)
}
