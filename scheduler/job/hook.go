package job

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Hook lets a program outside of the cluster start the job: by a signed request, without a token.
type Hook struct {
	Secret string            `json:"secret"`          // one reference, which a replica resolves for each delivery
	Param  map[string]string `json:"param,omitempty"` // templates of the parameters that a delivery gives; nil: none
}

// Hooks has the hooks of a job by name. A name belongs to one job of the cluster.
type Hooks map[string]Hook

// The bounds of hooks.
const (
	MaxHooks        = 16      // of one job
	MaxHookTemplate = 1 << 10 // bytes
)

// hookSecret matches one reference and nothing else.
var hookSecret = regexp.MustCompile(`^\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^}]*)\}$`)

// CheckHookSecret returns an error unless text is one reference. The error does not contain the text, which may be a secret.
func CheckHookSecret(text string) error {
	if !hookSecret.MatchString(text) {
		return errors.New("must be one reference: a secret itself would be stored")
	}
	return nil
}

// HookPrincipal returns the name of a hook as the author of changes.
func HookPrincipal(name string) string { return "hook/" + name }

// checkHooks returns an error if a hook is one that no job file could contain. It parses no template: a leader checks all
// definitions.
func (s *Spec) checkHooks() error {
	if len(s.Hooks) > MaxHooks {
		return fmt.Errorf("hooks has %d entries, at most %d are allowed", len(s.Hooks), MaxHooks)
	}
	for name, h := range s.Hooks {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("hooks: %w", err)
		}
		if err := CheckHookSecret(h.Secret); err != nil {
			return fmt.Errorf("hooks.%s.secret %w", name, err)
		}
		for param := range h.Param {
			if _, declared := s.Params[param]; !declared {
				return fmt.Errorf("hooks.%s gives the parameter %s, which the job does not declare", name, strings.ToValidUTF8(param, "?"))
			}
		}
	}
	return nil
}
