package config

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

var pingKeys = tableOf(job.Ping{},
	key("url", pingURL, func(p *job.Ping) *string { return &p.URL },
		`"https://hc-ping.com/${env:ROTA_SECRET_CHECK}"`,
		"The URL of the check at the service. It may hold ${env:NAME} and ${file:/path}.",
		required),
	key("service", choiceOf(job.PingServices()), func(p *job.Ping) *job.PingService { return &p.Service },
		"cronitor", "The service, which decides about the form of the pings.", zero("healthchecks.")),
)

// pingURL is the kind of the URL of a check.
var pingURL = kind[string]{
	name: "URL", limits: targetURL.limits, schema: targetURL.schema,
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxURL)
		if strings.Contains(text, "{{") {
			r.fail(n, "remove it: rota adds the state and the run itself", "%s has a template", what)
			return ""
		}
		r.url(n, what, text)
		return text
	},
}

// pingOfJob is the kind of a ping. A text is its URL.
var pingOfJob = func() kind[*job.Ping] {
	k := ruleOf(pingKeys, inFlow, nil, func(r *reader, n *yaml.Node, _ *job.Ping, sound bool) {
		if sound && child(n, "url") == nil {
			r.failAbsent(n, "url", "such as url: https://hc-ping.com/…", "ping has no url")
		}
	})
	read := k.read
	k.name, k.schema = "URL or mapping", object{"anyOf": []object{pingURL.schema, k.schema}}
	k.read = func(r *reader, n *yaml.Node, what string) *job.Ping {
		if n.Kind != yaml.ScalarNode {
			return read(r, n, what)
		}
		return &job.Ping{URL: pingURL.read(r, n, what)}
	}
	return k
}()
