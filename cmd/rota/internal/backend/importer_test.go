package backend

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestImportSaysWhatIsWrongWithAText(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx   context.Context //nolint:containedctx // of one case
		ask   api.ImportRequest
		field string
		want  string
	}{
		"no crontab":   {t.Context(), api.ImportRequest{Kind: "crontab", Text: "* * a\n"}, "text", "line 1: the line has fewer than five fields of time"},
		"only remarks": {t.Context(), api.ImportRequest{Kind: "crontab", Text: "# nothing\n"}, "text", "no job was found in the text"},
		"no YAML":      {t.Context(), api.ImportRequest{Kind: "cronjob", Text: "a: ]"}, "text", "is not YAML"},
		"no JSON":      {t.Context(), api.ImportRequest{Kind: "dkron", Text: "{"}, "text", "is not JSON"},
		"no unit":      {t.Context(), api.ImportRequest{Kind: "systemd", Text: "[Timer]"}, "text", "line 1: the name of the unit is missing"},
		"many jobs":    {t.Context(), api.ImportRequest{Kind: "crontab", Text: strings.Repeat("@daily a\n", 2001)}, "text", "the text has 2001 jobs"},
		"no zone":      {t.Context(), api.ImportRequest{Kind: "crontab", Text: "@daily a", Timezone: "Nowhere"}, "timezone", `"Nowhere" is not a known time zone`},
		"machine zone": {t.Context(), api.ImportRequest{Kind: "crontab", Text: "@daily a", Timezone: "localtime"}, "timezone", "depends on the machine"},
		"no time":      {canceled, api.ImportRequest{Kind: "crontab", Text: "@daily a"}, "text", "took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Config{}).Import(tc.ctx, tc.ask)
			invalid, ok := errors.AsType[*api.Invalid](err)
			if !ok || invalid.Errors[0].Field != tc.field || !strings.Contains(invalid.Errors[0].Message, tc.want) {
				t.Errorf("got %v, want %s: %s", err, tc.field, tc.want)
			}
		})
	}
	v, err := New(Config{}).Import(t.Context(), api.ImportRequest{Kind: "crontab", System: true, Text: "@daily www backup\n@reboot root x\n"})
	if err != nil || v.Jobs != 1 || v.Complete || len(v.Notes) != 2 || v.Notes[0].Lost || v.Notes[1].Place != "line 2" || !v.Notes[1].Lost {
		t.Errorf("a crontab of a system: got %+v, %v", v, err)
	}
}
