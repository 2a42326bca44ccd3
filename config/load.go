package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v4"
)

// given is the value of a setting and the place of that value.
type given struct {
	origin string
	reader *reader
	node   *yaml.Node
}

// LoadSettings reads the settings of a process. For each setting, a flag has priority over the variable in environ (from
// os.Environ), the variable over the file, and the file over the default. file may be empty and flags may be nil. If there are
// mistakes, LoadSettings returns Errors with all of them.
func LoadSettings(file string, flags *pflag.FlagSet, environ []string) (Settings, error) {
	return loadUnder(file, flags, environ, "", (*Settings).check)
}

// LoadEtcd reads and checks only the settings of the connection to etcd, for commands that read a store.
func LoadEtcd(file string, environ []string) (Etcd, error) {
	s, err := loadUnder(file, nil, environ, "etcd.", (*Settings).checkStore)
	return s.Etcd, err
}

// loadUnder reads the settings whose keys begin with a prefix. It calls check only if all of them could be read.
func loadUnder(
	file string, flags *pflag.FlagSet, environ []string, prefix string, check func(*Settings, map[string]given),
) (Settings, error) {
	c := &collector{}
	env := environment(environ)
	v := viper.New()
	l := layers{c: c, v: v}
	l.defaults(env)
	if file != "" {
		l.file(file)
	}
	l.environment(env)
	if flags != nil {
		l.flags(flags)
	}
	s := Settings{origins: map[string]string{}}
	sources := map[string]given{}
	before := len(c.errs)
	for _, setting := range settings {
		if !strings.HasPrefix(setting.key, prefix) {
			continue
		}
		g, ok := l.value(setting)
		s.origins[setting.key] = g.origin
		sources[setting.key] = g
		if ok {
			setting.read(g.reader, g.node, &s)
		}
	}
	s.derive()
	if len(c.errs) == before {
		check(&s, sources)
	}
	s.Warnings = append(unknownVariables(env), s.unused()...)
	if err := c.err(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// layers stores the values of all origins in viper, which chooses the value with the highest priority. Each value is a given, so
// that viper neither converts it nor changes the case of labels.
type layers struct {
	c *collector
	v *viper.Viper
}

func (l layers) given(origin, name string, s setting, text string) given {
	return given{origin, &reader{src: &source{name: name}, c: l.c}, s.parse(text)}
}

func (l layers) defaults(env map[string]string) {
	for _, s := range settings {
		standard := s.standard
		if s.key == "node.data_dir" {
			standard = defaultDataDir(env)
		}
		if standard != "" {
			l.v.SetDefault(s.key, l.given(OriginDefault, "default of "+s.key, s, standard))
		}
	}
}

func (l layers) environment(env map[string]string) {
	values := map[string]any{}
	for _, s := range settings {
		if text := env[s.env()]; text != "" {
			nest(values, s.key, l.given(OriginEnv, "environment variable "+s.env(), s, text))
		}
	}
	l.merge(values)
}

func (l layers) flags(flags *pflag.FlagSet) {
	for _, s := range settings {
		if f := flags.Lookup(s.flag()); f != nil && f.Changed {
			l.v.Set(s.key, l.given(OriginFlag, "flag --"+s.flag(), s, f.Value.String()))
		}
	}
}

// merge adds values, which have priority over those of earlier calls.
func (l layers) merge(values map[string]any) {
	if err := l.v.MergeConfigMap(values); err != nil {
		l.c.add(&Error{File: "settings", Msg: err.Error()})
	}
}

// nest stores a value in nested maps, the form that viper reads. It returns false if the key had a value.
func nest(values map[string]any, key string, g given) bool {
	first, rest, found := strings.Cut(key, ".")
	if !found {
		_, had := values[key]
		values[key] = g
		return !had
	}
	below, ok := values[first].(map[string]any)
	if !ok {
		below = map[string]any{}
		values[first] = below
	}
	return nest(below, rest, g)
}

// value returns the chosen value of a setting. It returns false if no origin has a value.
func (l layers) value(s setting) (given, bool) {
	if g, ok := l.v.Get(s.key).(given); ok {
		return g, true
	}
	return given{OriginDefault, &reader{src: &source{name: "default of " + s.key}, c: l.c}, &yaml.Node{}}, false
}

// file reads the settings file. It reports every key that is unknown.
func (l layers) file(path string) {
	src, err := readSource(path)
	if err != nil {
		l.c.add(err)
		return
	}
	roots := documents(src, l.c)
	if len(roots) == 0 {
		return // an empty file sets nothing
	}
	r := &reader{src: src, c: l.c}
	if len(roots) > 1 {
		r.fail(roots[1], "make them one", "settings are one YAML document, not %d", len(roots))
	}
	values := map[string]any{}
	l.section(r, roots[0], "", values)
	l.merge(values)
}

// section reads the keys below a prefix such as "etcd.tls.".
func (l layers) section(r *reader, n *yaml.Node, prefix string, values map[string]any) {
	what := "settings"
	if prefix != "" {
		what = strings.TrimSuffix(prefix, ".")
	}
	r.pairs(n, what, func(key, value *yaml.Node) {
		path := prefix + key.Value
		switch {
		case slices.Contains(settingNames(), path):
			if isNull(value) {
				r.fail(key, "give it one or remove the key", "%s has no value", path)
				return
			}
			if !nest(values, path, given{OriginFile, r, value}) { // as http: {listen: …} and as http.listen: …
				r.fail(key, "remove one of the two", "%s is given twice", path)
			}
		case isSection(path):
			if isNull(value) {
				return // all keys of the section are commented out
			}
			l.section(r, value, path+".", values)
		default:
			if use := elsewhere(key.Value); use != "" {
				r.fail(key, use, "unknown key %s in %s", quote(key.Value), what)
				return
			}
			r.unknown(key, what, below(prefix))
		}
	})
}

// elsewhere returns a hint for a key that stands in the wrong section. It is empty if no setting, or more than one, ends with this
// word.
func elsewhere(word string) (hint string) {
	for _, s := range settings {
		switch {
		case s.key != word && !strings.HasSuffix(s.key, "."+word):
		case hint != "":
			return ""
		case s.key == word:
			hint = "use " + word + " at the top level"
		default:
			hint = "use " + s.key
		}
	}
	return hint
}

func isSection(path string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.key, path+".") })
}

// below lists the keys that are directly below a prefix.
func below(prefix string) []string {
	var keys []string
	for _, s := range settings {
		rest, ok := strings.CutPrefix(s.key, prefix)
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(keys, first) {
			keys = append(keys, first)
		}
	}
	return keys
}
