// SPDX-License-Identifier: Apache-2.0

package main

import "sigs.k8s.io/yaml"

// krewName is the argument of `kubectl krew install`.
const krewName = "devicequota"

// krewPlugin is a Plugin of krew.googlecontainertools.github.com/v1alpha2. Krew's module is not needed for these few fields.
type krewPlugin struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   krewMeta `json:"metadata"`
	Spec       krewSpec `json:"spec"`
}

type krewMeta struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// krewManifest returns the manifest of the kubectl plugin for the index of krew.
func krewManifest(version, downloads string, archives []archive) ([]byte, error) {
	p := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: krewMeta{Name: krewName},
		Spec: krewSpec{
			Version: version, Homepage: repositoryURL,
			ShortDescription: "See and explain quotas of accelerators",
			Description: "Shows what each Volcano queue holds of devices, cards, and resources,\n" +
				"explains why a pod or job waits, and says who holds what it needs.\n" +
				"The cluster needs the scheduler of devicequota.\n",
		},
	}
	for _, a := range archives {
		p.Spec.Platforms = append(p.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": a.platform.OS, "arch": a.platform.Architecture}},
			URI:      downloads + "/" + version + "/" + a.name, SHA256: a.sha256, Bin: executable(a.platform),
		})
	}
	return yaml.Marshal(p)
}
