// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	sigsyaml "sigs.k8s.io/yaml"
)

// Anonymize returns a copy with hashes in place of names, UIDs, values of annotations, and values of labels outside well-known domains.
// References between objects stay valid. With the same salt, the same name has the same hash.
//
// Each text is replaced unless a rule keeps it, because an unknown field may contain a name.
func (s *State) Anonymize(salt []byte) *State {
	a := anonymizer{salt: salt, known: s.names()}
	out := s.Copy()
	out.nameMembers()
	for i := range out.Items {
		kind, content := out.Items[i].GetKind(), out.Items[i].Object
		for field, value := range content {
			if !slices.Contains([]string{"apiVersion", "kind"}, field) && !slices.Contains(keptParts[kind], field) {
				content[field] = a.value(value)
			}
		}
		if metadata, is := content["metadata"].(map[string]any); is && keptParts[kind] != nil && !slices.Contains(namedKinds, kind) {
			metadata["name"] = s.Items[i].GetName()
		}
	}
	out.Configuration = a.configuration(s.Configuration)
	for i, unread := range out.Unread { // the messages of API servers name users
		what, _, _ := strings.Cut(unread, ": ")
		out.Unread[i] = what
	}
	return out
}

// names returns the names and UIDs to replace.
func (s *State) names() map[string]bool {
	known := map[string]bool{}
	for i := range s.Items {
		o := &s.Items[i]
		if slices.Contains(namedKinds, o.GetKind()) {
			known[o.GetName()] = true
		}
		known[o.GetNamespace()], known[string(o.GetUID())] = true, true
	}
	for _, kept := range append(keptNames, "") {
		delete(known, kept)
	}
	return known
}

type anonymizer struct {
	salt  []byte
	known map[string]bool
}

// hash returns a replacement that is valid as any name.
func (a *anonymizer) hash(name string) string {
	mac := hmac.New(sha256.New, a.salt)
	mac.Write([]byte(name))
	return "x" + hex.EncodeToString(mac.Sum(nil))[:12]
}

func (a *anonymizer) object(content map[string]any) {
	// Requirements of selectors, taints, and tolerations have a key and values.
	key, _ := content["key"].(string)
	for field, value := range content {
		within, is := value.(map[string]any)
		switch {
		case key != "" && (field == "value" || field == "values"):
			content[field] = each(value, func(text string) string { return a.labelValue(key, text) })
		case is && slices.Contains(labelFields, field) && flat(within):
			a.values(within, a.labelValue)
		case is && field == "annotations":
			a.values(within, a.annotation)
		case is && slices.Contains(keyedByName, field):
			content[field] = a.keys(within)
		case is && slices.Contains(keptMaps, field) && flat(within), slices.Contains(keptFields, field):
		case field == "device":
			content[field] = each(value, a.knownOnly)
		case field == "devices" && isSlice(content):
			a.devices(value)
		case field == "name" && content["nodeID"] != nil: // a driver of a CSINode
		default:
			content[field] = a.value(value)
		}
	}
}

// devices replaces the nodes in devices of a ResourceSlice, and the taints, which claims tolerate.
func (a *anonymizer) devices(all any) {
	devices, _ := all.([]any)
	for i := range devices {
		device, _ := devices[i].(map[string]any)
		for field, value := range device {
			switch field {
			case "name":
				device[field] = each(value, a.knownOnly)
			case "attributes":
				a.attributes(value)
			case "nodeName", "nodeSelector", "taints":
				device[field] = a.value(value)
			}
		}
	}
}

// attributes replaces the names of objects, such as nodes, in the values of attributes.
func (a *anonymizer) attributes(all any) {
	named, _ := all.(map[string]any)
	for _, attribute := range named {
		value, _ := attribute.(map[string]any)
		for kind, told := range value {
			value[kind] = each(told, a.knownOnly)
		}
	}
}

// value replaces all texts within a value.
func (a *anonymizer) value(value any) any {
	switch v := value.(type) {
	case map[string]any:
		a.object(v)
	case []any:
		for i := range v {
			v[i] = a.value(v[i])
		}
	case string:
		return a.text(v)
	}
	return value
}

// text replaces a name. Words such as NoSchedule and Running, numbers, quantities, and times are not names.
func (a *anonymizer) text(text string) string {
	if !a.known[text] && word.MatchString(text) {
		return text
	}
	return a.given(text)
}

// given replaces a text that people choose. In this text, even a word may be a name, such as Alice.
func (a *anonymizer) given(text string) string {
	if !a.known[text] && isNumber(text) {
		return text
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if part != "" && !slices.Contains(keptNames, part) {
			parts[i] = a.hash(part)
		}
	}
	return strings.Join(parts, "/")
}

// knownOnly replaces a text only if it is the name of an object.
func (a *anonymizer) knownOnly(text string) string {
	if a.known[text] {
		return a.hash(text)
	}
	return text
}

var word = regexp.MustCompile(`^[A-Z][A-Za-z]*$`)

func isNumber(text string) bool {
	if _, err := resource.ParseQuantity(text); err == nil {
		return true
	}
	if _, err := time.ParseDuration(text); err == nil {
		return true
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil || text == "true" || text == "false"
}

func (a *anonymizer) values(texts map[string]any, replace func(key, text string) string) {
	for key, text := range texts {
		if text, is := text.(string); is {
			texts[key] = replace(key, text)
		}
	}
}

func (a *anonymizer) keys(content map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range content {
		out[a.text(key)] = a.value(value)
	}
	return out
}

func (a *anonymizer) labelValue(key, value string) string {
	domain, name, has := strings.Cut(key, "/")
	within := func(known string) bool { return domain == known || strings.HasSuffix(domain, "."+known) }
	kept := strings.HasSuffix(name, ".product") ||
		has && !strings.HasSuffix(name, "name") && !slices.ContainsFunc(namingLabels, within) && slices.ContainsFunc(keptLabels, within)
	if kept {
		return a.knownOnly(value)
	}
	return a.given(value)
}

func (a *anonymizer) annotation(key, value string) string {
	if slices.Contains(keptAnnotationValues, key) {
		return value
	}
	return a.given(value)
}

// configuration replaces the names of objects in the arguments of plugins and actions. Other texts are names of plugins, actions, or resources.
func (a *anonymizer) configuration(text string) string {
	var content map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &content); err != nil {
		return ""
	}
	a.arguments(content)
	out, err := sigsyaml.Marshal(content)
	if err != nil || len(content) == 0 {
		return ""
	}
	return string(out)
}

func (a *anonymizer) arguments(value any) {
	switch v := value.(type) {
	case map[string]any:
		for field, within := range v {
			if field == "arguments" {
				v[field] = each(within, a.argument)
				continue
			}
			a.arguments(within)
		}
	case []any:
		for i := range v {
			a.arguments(v[i])
		}
	}
}

// argument replaces the names of objects and servers.
func (a *anonymizer) argument(text string) string {
	if scheme, rest, is := strings.Cut(text, "://"); is {
		return scheme + "://" + a.hash(rest)
	}
	return token.ReplaceAllStringFunc(text, a.knownOnly)
}

// token matches possible names within a text.
var token = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9.-]*`)

// each replaces each text within a value, including keys of objects.
func each(value any, replace func(string) string) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, within := range v {
			out[replace(key)] = each(within, replace)
		}
		return out
	case []any:
		for i := range v {
			v[i] = each(v[i], replace)
		}
		return v
	case string:
		return replace(v)
	}
	return value
}

// flat reports whether a map has only texts and numbers.
func flat(values map[string]any) bool {
	for _, value := range values {
		switch value.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}
