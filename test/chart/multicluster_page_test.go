// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// twoClusters are the contexts HOST and KARMADA of docs/multicluster.md, and a folder with the files of its commands. KARMADA is an API
// server with Karmada's CRDs. Neither Karmada's programs nor a dispatcher run: test/multicluster tests these.
type twoClusters struct {
	host, karmada *environment
	kubeconfig    string
	folder        string
}

func newTwoClusters(t *testing.T) *twoClusters {
	host := newCluster(t)
	newKubelet(host)
	started, err := cluster.Start(context.Background(), cluster.Options{WithoutVolcano: true})
	host.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { host.Expect(started.Stop()).To(Succeed()) })
	karmada := *host
	karmada.cluster, karmada.kube = started, kubernetes.NewForConfigOrDie(started.Config())
	both := &twoClusters{host: host, karmada: &karmada, folder: t.TempDir()}
	both.kubeconfig = filepath.Join(both.folder, "kubeconfig")
	contexts := clientcmdapi.NewConfig()
	for name, e := range map[string]*environment{"HOST": host, "KARMADA": &karmada} {
		config, err := clientcmd.LoadFromFile(e.cluster.Kubeconfig())
		host.Expect(err).NotTo(HaveOccurred())
		current := config.Contexts[config.CurrentContext]
		contexts.Clusters[name], contexts.AuthInfos[name] = config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
		contexts.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	host.Expect(clientcmd.WriteToFile(*contexts, both.kubeconfig)).To(Succeed())
	host.Expect(os.Symlink(filepath.Join(root, "config"), filepath.Join(both.folder, "config"))).To(Succeed())
	return both
}

// run runs commands in the folder, and returns their output.
func (b *twoClusters) run(commands string) string {
	b.host.t.Helper()
	return b.host.sh("cd " + b.folder + "\nexport KUBECONFIG=" + b.kubeconfig + "\n" + commands)
}

func (b *twoClusters) apply(cluster, manifests string) {
	b.host.t.Helper()
	b.run("kubectl --context " + cluster + " apply -f - <<'END'\n" + manifests + "\nEND")
}

// module returns the folder of a Go module that this one requires.
func (b *twoClusters) module(path string) string {
	b.host.t.Helper()
	return strings.TrimSpace(b.host.sh("go list -m -f '{{.Dir}}' " + path))
}

// certManager is the API of cert-manager.
const certManager = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: issuers.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Issuer, plural: issuers}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`

// held is what a dispatcher leaves behind: its lease, and a binding that it held and charged.
const held = `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: vc-dispatcher, namespace: volcano-system}
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata:
  name: train-job
  namespace: default
  finalizers: [volcano.sh/charged]
  annotations: {volcano.sh/hold: '{"queue":"ml-team"}'}
spec:
  resource: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, namespace: default, name: train}
  suspension: {scheduling: true}`

// TestTheMulticlusterPage runs the commands of docs/multicluster.md that install and uninstall the dispatcher.
func TestTheMulticlusterPage(t *testing.T) {
	b := newTwoClusters(t)
	e := b.host
	_, install, _ := strings.Cut(e.fileOf("docs/multicluster.md"), "\n## Install\n")
	install, _, _ = strings.Cut(install, "\n## ")
	blocks := regexp.MustCompile(`(?m)(?:^ {4,}\S.*\n)+`).FindAllString(install, -1)
	e.Expect(blocks).To(HaveLen(7), "blocks of commands")
	e.Expect(strings.TrimSpace(blocks[0])).To(HavePrefix("make image "), "what needs a registry is not run")

	crds := b.module("github.com/karmada-io/karmada") + "/charts/karmada/_crds/bases/"
	b.run("kubectl --context KARMADA apply --server-side -f " + crds + "config -f " + crds + "work")
	b.apply("HOST", certManager)
	b.run("kubectl --context KARMADA wait --for=condition=Established crd --all && kubectl --context HOST wait --for=condition=Established crd --all")

	upstream := regexp.MustCompile(`https://raw\.githubusercontent\.com/volcano-sh/volcano/v1\.14\.1/`)
	e.Expect(blocks[1]).To(MatchRegexp(upstream.String()))
	b.run(upstream.ReplaceAllLiteralString(blocks[1], b.module("volcano.sh/volcano")+"/"))
	b.run("kubectl --context KARMADA wait --for=condition=Established crd --all")
	b.apply("KARMADA", "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ml-team}, spec: {dra: {capability: {nvidia-h100: {count: 8}}}}}")

	identity := strings.SplitAfterN(blocks[2], "\n", 2)
	b.run(identity[0])
	b.issueToken()
	b.run(identity[1])
	who := b.run("kubectl --kubeconfig vc-dispatcher.kubeconfig --server " + b.karmada.cluster.Config().Host + " auth whoami -o jsonpath='{.status.userInfo.username}'")
	e.Expect(who).To(Equal("system:serviceaccount:volcano-system:vc-dispatcher"))

	b.run(blocks[3])
	e.Expect(b.run(blocks[4])).To(ContainSubstring("ml-team"))
	b.apply("KARMADA", held)
	ca := b.issueCertificate()
	b.run(blocks[5])
	e.Expect(b.run("kubectl --context KARMADA get mutatingwebhookconfiguration,validatingwebhookconfiguration vc-dispatcher -o jsonpath='{.items[*].webhooks[0].clientConfig.caBundle}'")).
		To(Equal(ca + " " + ca))

	b.run(blocks[6])
	for _, context := range []string{"HOST", "KARMADA"} {
		left := b.run("for kind in clusterroles clusterrolebindings validatingadmissionpolicies validatingadmissionpolicybindings mutatingwebhookconfigurations validatingwebhookconfigurations deployments poddisruptionbudgets " +
			"services serviceaccounts roles rolebindings leases secrets configmaps; do\n" +
			"kubectl --context " + context + " -n volcano-system get $kind -o name | { grep vc-dispatcher || true; }\ndone")
		e.Expect(left).To(BeEmpty(), "what is left in %s", context)
		e.Expect(b.run("kubectl --context "+context+" get namespace volcano-system -o jsonpath='{.status.phase}'")).To(Equal("Active"), "others may use it")
	}
	e.Expect(b.run("kubectl --context KARMADA get resourcebinding train-job -o jsonpath='{.metadata.finalizers}{.metadata.annotations.volcano\\.sh/hold}{.spec.suspension.scheduling}'")).
		To(Equal("false"), "the binding is let go")
}

// issueToken acts as kube-controller-manager for the Secret of a service account.
func (b *twoClusters) issueToken() {
	e := b.karmada
	var token *authenticationv1.TokenRequest
	e.Eventually(func() (err error) {
		token, err = e.kube.CoreV1().ServiceAccounts(namespace).CreateToken(e.ctx, "vc-dispatcher", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	}).Should(Succeed())
	secret, err := e.kube.CoreV1().Secrets(namespace).Get(e.ctx, "vc-dispatcher", metav1.GetOptions{})
	e.Expect(err).NotTo(HaveOccurred())
	secret.Data = map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": e.cluster.Config().CAData}
	_, err = e.kube.CoreV1().Secrets(namespace).Update(e.ctx, secret, metav1.UpdateOptions{})
	e.Expect(err).NotTo(HaveOccurred())
}

// issueCertificate acts as cert-manager, and returns the CA in the form of manifests.
func (b *twoClusters) issueCertificate() string {
	e := b.host
	_, err := e.kube.CoreV1().Secrets(namespace).Create(e.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "vc-dispatcher-webhook"}, Data: map[string][]byte{"ca.crt": e.cluster.Config().CAData},
	}, metav1.CreateOptions{})
	e.Expect(err).NotTo(HaveOccurred())
	return b.run("kubectl --context HOST -n volcano-system get secret vc-dispatcher-webhook -o jsonpath='{.data.ca\\.crt}'")
}
