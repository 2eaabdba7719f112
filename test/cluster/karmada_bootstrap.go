// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	_ "embed"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// karmadaFolder is the folder with copies of Karmada's manifests beside the binaries.
	karmadaFolder = "karmada-manifests"
	// karmadasWebhook is the address of Karmada's webhook in these manifests.
	karmadasWebhook = "https://karmada-webhook.karmada-system.svc:443"
)

// karmadaObjects are the objects that Karmada needs in addition to its CRDs.
//
//go:embed karmada.yaml
var karmadaObjects []byte

// hubCRDs are Volcano's CRDs for templates.
var hubCRDs = []string{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "queues.scheduling.volcano.sh"}

// bootstrap creates what Karmada needs before it starts. Karmada looks for new CRDs only every 30 seconds.
func (k *Karmada) bootstrap(ctx context.Context) error {
	objects, err := parseManifests("karmada.yaml", karmadaObjects)
	if err != nil {
		return err
	}
	karmadas, err := readManifests(filepath.Join(k.bin, karmadaFolder, "crds"))
	if err != nil {
		return err
	}
	volcanos, err := k.crds()
	if err != nil {
		return err
	}
	volcanos = slices.DeleteFunc(volcanos, func(m manifest) bool { return !slices.Contains(hubCRDs, m.object.GetName()) })
	return k.apply(ctx, slices.Concat(objects, karmadas, volcanos))
}

// applyKarmadasWebhooks makes the API server call the running karmada-webhook.
func (k *Karmada) applyKarmadasWebhooks(ctx context.Context) error {
	file := filepath.Join(k.bin, karmadaFolder, "webhook-configuration.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replace := strings.NewReplacer(karmadasWebhook, "https://"+k.addressOf(KarmadaWebhook, 0), "{{caBundle}}", base64.StdEncoding.EncodeToString(k.pki.caPEM()))
	return k.ApplyYAML(ctx, file, []byte(replace.Replace(string(data))))
}
