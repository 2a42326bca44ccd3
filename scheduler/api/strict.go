package api

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// asked are the schemas of all that a request's body may hold, at whatever depth.
func asked(doc *huma.OpenAPI) map[*huma.Schema]bool {
	found := map[*huma.Schema]bool{}
	var add func(*huma.Schema)
	add = func(s *huma.Schema) {
		if s != nil && s.Ref != "" {
			s = doc.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if s == nil || found[s] {
			return
		}
		found[s] = true
		add(s.Items)
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			add(values)
		}
		for _, property := range s.Properties {
			add(property)
		}
		for _, one := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
			add(one)
		}
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				add(media.Schema)
			}
		}
	}
	return found
}
