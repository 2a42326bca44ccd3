package job

import "testing"

func TestOnlyAWorkerThatNamesContainersGetsThem(t *testing.T) {
	spec := &Spec{Container: &Container{Image: "backup:1"}, Resources: &Resources{Memory: 1 << 20}}
	for name, tt := range map[string]struct {
		worker Worker
		want   bool
	}{
		"without kinds, as workers of version 0.1.0": {Worker{}, false},
		"with all default kinds":                     {Worker{Kinds: UsualKinds()}, false},
		"with the kind":                              {Worker{Kinds: []string{"container"}}, true},
	} {
		if got := tt.worker.Accepts(spec); got != tt.want {
			t.Errorf("a worker %s: got %v", name, got)
		}
	}
	if w := (Worker{}); !w.Accepts(&Spec{Shell: "true"}) || !w.Accepts(&Spec{HTTP: &HTTP{}}) {
		t.Error("a worker without kinds refuses a default kind")
	}
}

func TestCheckVolume(t *testing.T) {
	for text, ok := range map[string]bool{
		"/srv/data:/data": true, "data:/data": true, "/srv:/data:ro": true,
		"": false, "/srv": false, "srv/data:/data": false, "./srv:/data": false, "/srv:data": false, "/srv:/": false, ":/data": false, "/a:/b:c:d": false,
	} {
		if err := CheckVolume(text); (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
