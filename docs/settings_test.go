package docs_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/docpage"
)

var update = flag.Bool("update", false, "write the generated parts of the pages")

const settingsPage = "reference/settings.md"

// TestSettingsReference compares each entry of the reference with the flag of the setting.
func TestSettingsReference(t *testing.T) {
	t.Setenv("HOME", "/")
	set, err := config.LoadSettings("", nil, []string{"HOME=/", "ROTA_NODE_NAME=x"})
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("rota", pflag.ContinueOnError)
	config.AddFlags(flags)
	examples := settingExamples(t)
	var keys []string
	for key := range set.Origins() {
		keys = append(keys, key)
		f := flags.Lookup(strings.NewReplacer(".", "-", "_", "-").Replace(key))
		if f == nil {
			t.Errorf("the setting %s has no flag", key)
			continue
		}
		if *update {
			addEntry(t, key)
		}
		docpage.Check(t, settingsPage, key, settingEntry(key, f, examples[key]), *update)
	}
	same(t, settingsPage, headings(t, settingsPage, "### "), keys)
}

// TestSettingsStandTogether looks for settings of one group in two sections of the page, such as those that addEntry has appended.
func TestSettingsStandTogether(t *testing.T) {
	sections := make(map[string]string)
	for section := range strings.SplitSeq(read(t, settingsPage), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile("(?m)^### `(\\w+)").FindAllStringSubmatch(section, -1) {
			if title == "Signals" || sections[m[1]] != "" && sections[m[1]] != title {
				t.Errorf("section %q has a setting of %s: move it to its group", title, m[1])
			}
			sections[m[1]] = title
		}
	}
}

// addEntry appends an empty entry for a setting that the page does not have. Move it to its place.
func addEntry(t *testing.T, key string) {
	t.Helper()
	text := read(t, settingsPage)
	if strings.Contains(text, "\n### `"+key+"`\n") {
		return
	}
	text += fmt.Sprintf("\n### `%[1]s`\n\n<!-- generated: %[1]s -->\n<!-- end -->\n", key)
	if err := os.WriteFile(settingsPage, []byte(text), 0o644); err != nil { //nolint:gosec // A page is for everybody.
		t.Fatal(err)
	}
}

// settingEntry is the generated part of one entry.
func settingEntry(key string, f *pflag.Flag, example string) string {
	usage, standard := f.Usage, "-"
	if m := regexp.MustCompile(`^(.*) \(default (.*)\)$`).FindStringSubmatch(f.Usage); m != nil {
		usage, standard = m[1], "`"+m[2]+"`"
	}
	variable := "ROTA_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
	return fmt.Sprintf("%s%s.\n\n| type | default | flag | variable | example |\n|---|---|---|---|---|\n| %s | %s | `--%s` | `%s` | `%s` |",
		strings.ToUpper(usage[:1]), usage[1:], settingType(key), standard, f.Name, variable, example)
}

// settingType is the type of a setting's field in words.
func settingType(key string) string {
	of, outer, last := reflect.TypeFor[config.Settings](), reflect.Type(nil), ""
	for part := range strings.SplitSeq(key, ".") {
		plain := strings.ReplaceAll(part, "_", "")
		field, ok := of.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, plain) })
		if !ok && outer != nil { // etcd.embedded.tls.optional is Embedded.TLSOptional
			field, ok = outer.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, last+plain) })
		}
		if !ok {
			return "?"
		}
		of, outer, last = field.Type, of, plain
	}
	switch {
	case of.PkgPath() == "time":
		return "duration"
	case of.Kind() == reflect.Bool:
		return "boolean"
	case of.Kind() == reflect.Int:
		return "whole number"
	case of.Kind() == reflect.Map:
		return "names with values"
	case of.Kind() == reflect.Slice:
		return "list of texts"
	}
	return "text"
}

// settingExamples returns the values of full.yaml: those in force and those in its comments.
func settingExamples(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../deploy/examples/replicas/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{
		"etcd.endpoints": "[https://etcd-1:2379, https://etcd-2:2379, https://etcd-3:2379]", "etcd.tls.cert": "/etc/rota/tls/etcd-client.crt",
		"etcd.tls.key": "/etc/rota/tls/etcd-client.key", "etcd.tls.ca": "/etc/rota/tls/etcd-ca.crt",
		"etcd.username": "rota", "etcd.password_file": "/run/secrets/etcd", "worker.labels": "{zone: a}",
	}
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		for key, value := range m {
			switch value := value.(type) {
			case map[string]any:
				walk(prefix+key+".", value)
			case []any:
				examples[prefix+key] = strings.ReplaceAll(fmt.Sprint(value), " ", ", ") // no value has a space
			default:
				examples[prefix+key] = fmt.Sprint(value)
			}
		}
	}
	walk("", doc)
	return examples
}
