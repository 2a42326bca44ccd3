package auth

import (
	"path"
	"reflect"
	"slices"
)

// Binding gives a role to one principal, or to all members of one group, within a scope of jobs.
type Binding struct {
	Principal string            `json:"principal,omitempty" doc:"Exactly one of principal and group is set"`
	Group     string            `json:"group,omitempty"`
	Role      Role              `json:"role"`
	Jobs      []string          `json:"jobs,omitempty" doc:"Patterns of job names; none: all jobs"` // as path.Match has them
	Labels    map[string]string `json:"labels,omitempty" doc:"Labels that a job needs; none: all jobs"`
}

// Object is the job that an operation concerns. The zero value stands for the whole cluster.
type Object struct {
	Job    string
	Labels map[string]string
	Whole  bool // only a role for the whole cluster covers the job
}

// covers reports whether the binding's scope includes an object. Only a binding without a scope covers the whole cluster.
func (b *Binding) covers(o Object) bool {
	if o.Job == "" || o.Whole {
		return len(b.Jobs) == 0 && len(b.Labels) == 0
	}
	for key, value := range b.Labels {
		if o.Labels[key] != value {
			return false
		}
	}
	return len(b.Jobs) == 0 || slices.ContainsFunc(b.Jobs, func(pattern string) bool {
		ok, err := path.Match(pattern, o.Job)
		return err == nil && ok
	})
}

// Grants are the rights of one identity. The zero value has no rights.
type Grants struct {
	everything bool // authentication is switched off
	peer       bool
	bindings   []Binding
}

// Everything returns the grants of every caller while authentication is switched off.
func Everything() Grants { return Grants{everything: true} }

// Everything reports whether the holder may do everything, because authentication is switched off.
func (g Grants) Everything() bool { return g.everything }

// Roles returns the roles of the holder with their scopes. A role that the holder has from a token and from a file appears once.
func (g Grants) Roles() (roles []Binding) {
	for _, b := range g.bindings {
		if !slices.ContainsFunc(roles, func(other Binding) bool { return reflect.DeepEqual(b, other) }) {
			roles = append(roles, b)
		}
	}
	return roles
}

// GrantsOf returns the grants of an identity: from bindings, and from the token if one proved the identity. token may be nil.
func GrantsOf(i Identity, bindings []Binding, token *Token) Grants {
	if i.Anonymous() {
		return Grants{}
	}
	g := Grants{peer: i.Peer()}
	if token != nil && token.Role != "" {
		g.bindings = append(g.bindings, Binding{Principal: i.Principal, Role: token.Role, Jobs: token.Jobs})
	}
	for _, b := range bindings {
		if b.Principal != "" && b.Principal == i.Principal || b.Group != "" && slices.Contains(i.Groups, b.Group) {
			g.bindings = append(g.bindings, b)
		}
	}
	return g
}

// May reports whether the grants include a right over an object.
func (g Grants) May(right Right, o Object) bool {
	switch {
	case g.everything, right == Anyone:
		return true
	case right == Peer:
		return g.peer
	}
	return slices.ContainsFunc(g.bindings, func(b Binding) bool { return b.Role.Has(right) && b.covers(o) })
}

// Sees reports whether the holder of the grants may know that a job exists.
func (g Grants) Sees(o Object) bool { return g.May(Read, o) }

// All reports whether the grants include a right over every job, so that lists need no filter.
func (g Grants) All(right Right) bool { return g.May(right, Object{}) }

// Any reports whether the grants include a right over some job, or over the cluster.
func (g Grants) Any(right Right) bool {
	if g.May(right, Object{}) {
		return true
	}
	return slices.ContainsFunc(g.bindings, func(b Binding) bool { return b.Role.Has(right) })
}
