package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"
)

// setting is one value of Settings. Its key gives the names of its flag and its variable: node.data_dir has the flag
// --node-data-dir and the variable ROTA_NODE_DATA_DIR.
type setting struct {
	key      string
	usage    string
	standard string // the default as text; empty if there is none, or if it depends on the machine
	at       func(s *Settings) any
}

func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.key) }
func (s setting) env() string {
	return "ROTA_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

func settingNames() []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.key
	}
	return names
}

// AddFlags adds a flag for every setting. LoadSettings reads the flags that the user set.
func AddFlags(flags *pflag.FlagSet) {
	for _, s := range settings {
		usage := s.usage
		if s.standard != "" {
			usage = fmt.Sprintf("%s (default %s)", usage, s.standard)
		}
		switch s.at(&Settings{}).(type) {
		case *bool:
			flags.String(s.flag(), "", usage)
			flags.Lookup(s.flag()).NoOptDefVal = "true"
		case *[]string, *[]netip.Prefix, *map[string]string:
			flags.Var(new(listFlag), s.flag(), usage)
		default:
			flags.String(s.flag(), "", usage)
		}
	}
}

// listFlag is the value of a flag that may be repeated: the elements of all of them, by commas.
type listFlag string

// Set implements pflag.Value.
func (f *listFlag) Set(text string) error {
	text = strings.Join(elements(text), ",")
	if *f != "" {
		text = string(*f) + "," + text
	}
	*f = listFlag(text)
	return nil
}

// String implements pflag.Value.
func (f *listFlag) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *listFlag) Type() string { return "string" }
