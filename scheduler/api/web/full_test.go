package web

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// full answers every read with a value in each field.
type full struct{ writes }

func (*full) Do(_ *http.Request, _, _ string, _ http.Header, _, out any) error {
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && !v.IsNil() {
		fill(v.Elem(), 0)
	}
	return nil
}

func (*full) Cluster(*http.Request) (v api.ClusterView, err error) {
	fill(reflect.ValueOf(&v).Elem(), 0)
	return v, nil
}

// fill gives a value to each field of v that can be set. Lists and maps get one item.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 8 {
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = noon
		return
	case *json.RawMessage:
		*at = json.RawMessage(`{"a":1}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	default: // functions and interfaces stay nil
	}
}

// A template that does not fit a field of a record must not hide the whole page.
func TestEachViewShowsRecordsWithAllFields(t *testing.T) {
	page := New(new(full), Config{
		Definition: func(string, *job.Spec) (string, error) { return "a definition", nil },
		Next:       func(Trial, int) (v api.NextView, err error) { fill(reflect.ValueOf(&v).Elem(), 0); return v, nil },
	})
	for _, path := range []string{
		"/", "/jobs", "/jobs/a", "/runs", "/runs/a/1", "/jobs/a/at?time=2026-11-01T00:00:00Z", "/jobs/a/workflow", "/workers", "/limits",
		"/calendars", "/tokens", "/schedule?every=1h", "/cluster", "/timeline", "/timeline/week", "/events", "/audit",
	} {
		w := visit(t, page, path)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `class="problem"`) {
			t.Errorf("%s: got %d, %s", path, w.Code, w.Body)
		}
	}
}
