package store

import "testing"

// TestADefinitionWithoutASpec is one that somebody's hand has put there: it is a job that has nothing to do and no slots.
func TestADefinitionWithoutASpec(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	for name, value := range map[string]string{
		"none": `{"name":"none","generation":1}`, "null": `{"name":"null","generation":1,"spec":null}`,
	} {
		put(t, c, s.keys.job(name), value)
		catchUp(t, s, m)
		if j, ok := m.Job(name); !ok || j.Spec == nil || j.Spec.Scheduled() {
			t.Errorf("%s: got %+v", name, j)
		}
	}
}
