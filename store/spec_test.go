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

// TestADefinitionThatWasReadIsTheReaders: it may change what it was given, to write it back, and changes nothing for others
// whose definitions say the same.
func TestADefinitionThatWasReadIsTheReaders(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	for _, name := range []string{"a", "b"} {
		if _, err := s.PutJob(within(t), definition(name)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Job(within(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	a.Spec.Description = "changed"
	catchUp(t, s, m)
	known, _ := m.Job("b")
	b, err := s.Job(within(t), "b")
	if err != nil || b.Spec.Description != "" || known.Spec.Description != "" {
		t.Errorf("after a was changed, b says %q, and %q in the mirror (%v)", b.Spec.Description, known.Spec.Description, err)
	}
}
