package page

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// examinations examines the cluster and its store by the page, before and after records were broken by hand.
func examinations(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	t.Helper()
	examine := func(name, title string) (report string) {
		t.Helper()
		b.open(base + "/cluster")
		b.eval(`document.querySelector('a[href="/do/` + name + `"]').click(); 0`)
		b.await(10*time.Second, "the confirmation of "+name, "document.querySelector('dialog[open] form.action h1')?.textContent === '"+title+"'")
		if got := b.text("dialog form.action"); !strings.Contains(got, "reads all records of the store") || !strings.Contains(got, "It changes nothing") {
			t.Errorf("%s does not say what it touches: %q", name, got)
		}
		b.shoot("confirm-" + name)
		press(b, nil)
		b.await(30*time.Second, "the report of "+name, "location.pathname === '/do/"+name+"' && document.querySelector('form.action .scope')")
		return b.text("form.action")
	}
	b.open(base + "/cluster")
	b.picture("examine", "/cluster")
	if got := examine("doctor", "Examine the cluster"); strings.Contains(got, "records, /rota") || strings.Contains(got, "does not answer") ||
		!strings.Contains(got, "examined: etcd, replicas, clocks, versions, files, records, jobs, workers, ") ||
		!strings.Contains(got, ", machine, settings.") || !strings.Contains(got, "Not examined") || !strings.Contains(got, "machine, settings of q") {
		t.Errorf("the examination of a healthy cluster: got %q", got)
	}
	b.picture("report", "/do/doctor")
	if got := examine("verify", "Verify the store"); !strings.Contains(got, "No invariant is broken.") || !strings.Contains(got, "Checked: 7") {
		t.Errorf("the store of a healthy cluster: got %q", got)
	}
	b.picture("report", "/do/verify")

	etcd, now := cluster.Dial(t, c.Endpoints()), time.Now().UTC().Truncate(time.Second)
	put := func(key, value string) {
		t.Helper()
		if _, err := etcd.Put(t.Context(), cluster.Prefix+"/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(key string) {
		t.Helper()
		if _, err := etcd.Delete(t.Context(), cluster.Prefix+"/"+key); err != nil {
			t.Error(err)
		}
	}
	put("jobs/broken-by-hand", "{")
	for _, ago := range []time.Duration{time.Minute, 2 * time.Minute} { // the cursor of an idle job goes back
		text, err := json.Marshal(job.Cursor{Job: "trading", After: now.Add(-ago)})
		if err != nil {
			t.Fatal(err)
		}
		put("cursors/trading", string(text))
	}
	got := examine("doctor", "Examine the cluster")
	if !strings.Contains(got, "attention.") || !strings.Contains(got, "/jobs/broken-by-hand") || !strings.Contains(got, "Do: rota etcdctl get") {
		t.Errorf("the examination of broken records: got %q", got)
	}
	b.picture("findings", "/do/doctor")
	if got := examine("verify", "Verify the store"); !strings.Contains(got, "found.") || !strings.Contains(got, "trading") || !strings.Contains(got, "quarantined") {
		t.Errorf("the store with broken records: got %q", got)
	}
	b.picture("findings", "/do/verify")
	remove("jobs/broken-by-hand")
	remove("cursors/trading")
}

// imports translates schedules of other tools by the page, and applies the result.
func imports(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	t.Helper()
	const text = "MAILTO=ops@example.com\n# Dump the database\n30 2 * * * /usr/local/bin/imported-dump --all\n@reboot /usr/bin/warm\n"
	b.open(base + "/jobs")
	b.eval(`document.querySelector('a[href="/do/import"]').click(); 0`)
	b.await(10*time.Second, "the form of imports", "document.querySelector('form.action h1')?.textContent === 'Import schedules' && document.readyState === 'complete'")
	b.picture("full", "/do/import")
	press(b, map[string]string{"text": text, "timezone": "Europe/Berlin"})
	b.await(15*time.Second, "the translation", "document.querySelector('form.action h1')?.textContent === 'Apply the imported schedules'")
	file, _ := b.eval("document.querySelector('[name=file]').value").(string)
	for _, want := range []string{"imported-dump:", "description: Dump the database", "timezone: Europe/Berlin", "30 2 * * *"} {
		if !strings.Contains(file, want) {
			t.Errorf("the job file lacks %q: %s", want, file)
		}
	}
	if got := b.text(".notes"); !strings.Contains(got, "line 1: MAILTO") || !strings.Contains(got, "line 4: @reboot") {
		t.Errorf("the notes: got %q", got)
	}
	b.picture("imported", "/do/apply")
	press(b, nil)
	b.await(15*time.Second, "the confirmation of the changes", "document.querySelector('form.action button')?.textContent === 'Change 1 definition' && document.readyState === 'complete'")
	if got := b.text(".notes"); !strings.Contains(got, "line 4: @reboot") {
		t.Errorf("the confirmation has lost the notes: %q", got)
	}
	press(b, nil)
	b.await(15*time.Second, "the jobs", "location.pathname === '/jobs'")
	if v, err := c.Client.Job(t.Context(), "imported-dump"); err != nil || v.Spec.Timezone != "Europe/Berlin" {
		t.Errorf("the imported job: got %+v, %v", v.Spec, err)
	}

	for _, tc := range []struct{ field, value, want string }{
		{"text", "* * not\n", "line 1: the line has fewer than five fields of time"},
		{"text", "", "Paste the text"},
		{"timezone", "Europe/Nowhere", `"Europe/Nowhere" is not a known time zone`},
	} {
		fields := map[string]string{"text": text}
		fields[tc.field] = tc.value
		submit(b, base, "/do/import", fields)
		if got := b.text(".wrong .error"); !strings.Contains(got, tc.want) {
			t.Errorf("%s %q: got error %q, want %q", tc.field, tc.value, got, tc.want)
		}
		kept, _ := b.eval("document.querySelector('[name=" + tc.field + "]').value").(string)
		if strings.TrimSpace(kept) != strings.TrimSpace(tc.value) {
			t.Errorf("%s: the form lost %q and has %q", tc.field, tc.value, kept)
		}
	}
	b.picture("wrong", "/do/import")
}
