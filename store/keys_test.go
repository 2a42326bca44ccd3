package store

import "testing"

func TestEveryKindIsKnown(t *testing.T) {
	keys := NewKeys("/rota")
	many, single := Kinds()
	for _, want := range many {
		if kind, name, ok := keys.Parse("/rota/" + string(want) + "/x"); !ok || kind != want || name != "x" {
			t.Errorf("a key of %s: got %s, %q, %t", want, kind, name, ok)
		}
	}
	for _, want := range single {
		if kind, _, ok := keys.Parse("/rota/" + string(want)); !ok || kind != want {
			t.Errorf("the key %s: got %s, %t", want, kind, ok)
		}
	}
}
