package config

import (
	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// containerKeys are the keys of a container.
var containerKeys = tableOf(*job.Spec{Container: &job.Container{}}.WithDefaults().Container,
	key("image", checked(job.CheckImage, "such as registry.internal/backup:1.4"), func(c *job.Container) *string { return &c.Image },
		"registry.internal/backup:1.4", "The image of the container.", required),
	key("pull", choiceOf(job.Pulls()), func(c *job.Container) *job.Pull { return &c.Pull },
		"always", "When the engine pulls the image: if it lacks the image, for each attempt, or never."),
	key("entrypoint", command, func(c *job.Container) *[]string { return &c.Entrypoint },
		"[/bin/sh, -c]", "The program and its first arguments, in place of those of the image.", zero("That of the image.")),
	key("command", command, func(c *job.Container) *[]string { return &c.Command },
		"[--to, /srv]", "The arguments behind the entrypoint, in place of those of the image.", zero("That of the image."),
		alias("args", "cmd")),
	key("user", argument(maxURL, object{"type": "string", "minLength": 1}, plain), func(c *job.Container) *string { return &c.User },
		`"1000:1000"`, "The user of the program: a name or number, and optionally a group after a colon.", zero("That of the image.")),
	key("network", argument(maxURL, object{"type": "string", "minLength": 1}, plain),
		func(c *job.Container) *string { return &c.Network },
		"none", "The network of the container: none, host, or the name of a network of the engine.",
		zero("The default network of the engine."), alias("network_mode", "networks")),
	key("volumes", listOf(checked(job.CheckVolume, "write SOURCE:TARGET or SOURCE:TARGET:ro"), inFlow),
		func(c *job.Container) *[]string { return &c.Volumes },
		`["/srv/data:/data:ro"]`, "Paths of the engine's machine or named volumes, and where the container has them.",
		zero("No volumes besides those of the image."), alias("mounts", "volume")),
)

// checked is the kind of a text that check accepts.
func checked(check func(string) error, hint string) kind[string] {
	return kind[string]{
		name: "text", schema: object{"type": "string", "minLength": 1},
		read: func(r *reader, n *yaml.Node, what string) string {
			text := r.required(n, what, maxURL)
			if text == "" {
				return ""
			}
			if err := check(text); err != nil {
				r.fail(n, hint, "%s: %v", what, err)
			}
			return r.argument(n, what, text)
		},
	}
}
