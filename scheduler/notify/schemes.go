package notify

// Schemes are what the URL of a notifier may begin with, each standing for a service. generic is any webhook, and may be
// followed by a + and its own scheme: generic+https://host/path.
func Schemes() []string {
	return []string{
		"bark", "discord", "generic", "googlechat", "gotify", "hangouts", "ifttt", "join", "lark", "matrix", "mattermost",
		"notifiarr", "ntfy", "opsgenie", "pagerduty", "pushbullet", "pushover", "rocketchat", "signal", "slack", "smtp",
		"teams", "telegram", "wecom", "zulip",
	}
}
