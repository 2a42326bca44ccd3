package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A list fails after a page, and one of its records is removed. The next list does not have it.
func TestAFailedListLeavesNothing(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := NewMirror(s)
	for _, name := range []string{"gone", "there"} {
		if _, err := s.PutJob(within(t), definition(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, fails := range []bool{true, false} {
		kvs, rev, err := s.list(within(t), s.keys.All())
		if err != nil {
			t.Fatal(err)
		}
		m.begin()
		m.page(kvs)
		if fails {
			remove(t, c, s.keys.job("gone"))
		} else {
			m.reset(rev)
		}
	}
	if diff := cmp.Diff([]string{"there"}, names(m, KindJobs)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// An unreadable record stays in quarantine when the store is listed again, and a feed says that it is unreadable. To a planner, a
// record that is neither readable nor unreadable is gone.
func TestAnUnreadableRecordStaysSo(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := NewMirror(s)
	list := func() {
		t.Helper()
		kvs, rev, err := s.list(within(t), s.keys.All())
		if err != nil {
			t.Fatal(err)
		}
		m.begin()
		m.page(kvs)
		m.reset(rev)
	}
	bad := func() (keys []string) {
		for _, b := range m.Quarantine() {
			keys = append(keys, b.Key)
		}
		return keys
	}
	unknown := prefix + "/unknown"
	put(t, c, s.keys.job("j"), "garbage")
	put(t, c, unknown, "garbage")
	feed := m.Feed()
	for range 2 {
		list()
		if diff := cmp.Diff([]string{s.keys.job("j"), unknown}, bad()); diff != "" {
			t.Errorf("quarantine (-want +got):\n%s", diff)
		}
	}
	if got := feed.Take(); len(got) != 1 || got[0].Kind != job.RecordJob || got[0].Bad == nil {
		t.Errorf("the feed has %+v, want one job that is unreadable", got)
	}
	remove(t, c, unknown)
	if _, err := s.PutJob(within(t), definition("k")); err != nil {
		t.Fatal(err)
	}
	list()
	if diff := cmp.Diff([]string{s.keys.job("j")}, bad()); diff != "" {
		t.Errorf("quarantine (-want +got):\n%s", diff)
	}
}
