// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type imageOptions struct {
	source     source
	binaries   string
	platforms  []v1.Platform
	out        string
	repository string
	push       bool
}

// makeImages writes, for each program, an OCI layout with an image for each platform, an archive for each platform for `docker load`, and the
// SBOMs. The file digests.txt has the digests.
func makeImages(o imageOptions, programs []string) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	var digests strings.Builder
	for _, program := range programs {
		tag, err := name.NewTag(o.repository+"/"+program+":"+o.source.version, name.StrictValidation)
		if err != nil {
			return err
		}
		index, err := makeIndex(o, tag, program, &digests)
		if err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
		if err := writeLayout(filepath.Join(o.out, program), o.source.version, index); err != nil {
			return fmt.Errorf("OCI layout of %s: %w", program, err)
		}
		if o.push {
			if err := remote.WriteIndex(tag, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
				return fmt.Errorf("push %s: %w", tag, err)
			}
		}
	}
	return os.WriteFile(filepath.Join(o.out, "digests.txt"), []byte(digests.String()), 0o644)
}

// folderOf returns the folder with the programs of a platform.
func folderOf(p v1.Platform) string { return p.OS + "-" + p.Architecture }

// makeIndex returns the index of a program's images, and writes the files of each platform.
func makeIndex(o imageOptions, tag name.Tag, program string, digests *strings.Builder) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range o.platforms {
		path := filepath.Join(o.binaries, folderOf(platform), program)
		bom, err := sbom(path, o.source)
		if err != nil {
			return nil, err
		}
		image, err := makeImage(o.source, platform, program, path, bom)
		if err != nil {
			return nil, err
		}
		base := filepath.Join(o.out, program+"-"+folderOf(platform))
		if err := os.WriteFile(base+".spdx.json", bom, 0o644); err != nil {
			return nil, err
		}
		if err := tarball.WriteToFile(base+".tar", tag, image); err != nil {
			return nil, err
		}
		digest, err := image.Digest()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(digests, "%s %s %s/%s\n", digest, program, platform.OS, platform.Architecture)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index = mutate.Annotations(index, labels(program, o.source)).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(digests, "%s %s\n", digest, program)
	return index, nil
}

// makeImage returns the image of a program for one platform. It runs as a user without a name and without privileges.
func makeImage(built source, platform v1.Platform, program, path string, bom []byte) (v1.Image, error) {
	files, err := baseLayer(built.date)
	if err != nil {
		return nil, err
	}
	own, err := programLayer(built, program, path, bom)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: built.date}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: files, History: v1.History{Created: created, CreatedBy: "hack/release: certificates of authorities, /tmp"}},
		mutate.Addendum{Layer: own, History: v1.History{Created: created, CreatedBy: "hack/release: " + program}},
	)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, created
	config.Config = v1.Config{User: "65532:65532", Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: labels(program, built)}
	return mutate.ConfigFile(image, config)
}

func labels(program string, built source) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         program,
		"org.opencontainers.image.description":   descriptions[program],
		"org.opencontainers.image.version":       built.version,
		"org.opencontainers.image.revision":      built.commit,
		"org.opencontainers.image.created":       built.date.Format(time.RFC3339),
		"org.opencontainers.image.source":        repositoryURL,
		"org.opencontainers.image.documentation": repositoryURL + "#readme",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.vendor":        "devicequota",
	}
}

const repositoryURL = "https://github.com/devicequota/devicequota"

var descriptions = map[string]string{
	"vc-scheduler":  "Volcano's scheduler with quotas for devices, cards, and resources",
	"vc-dispatcher": "Quotas for workloads of several clusters, in front of Karmada",
	"vc-webhook":    "Refuses quotas and annotations about cards that the scheduler could not read",
}

// writeLayout replaces the output of an earlier build.
func writeLayout(folder, version string, index v1.ImageIndex) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
}
