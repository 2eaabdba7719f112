// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/devicequota/devicequota/test/cluster"
)

// program is a process that represents the pods of a Deployment.
type program struct {
	*environment
	process *exec.Cmd
	folder  string
	log     string
	health  string
	// port is the port of a webhook.
	port string
	pod  corev1.PodSpec
}

// runScheduler runs the project's scheduler as a Deployment in the namespace volcano-system specifies. It returns when the scheduler
// responds to its liveness probe.
func (e *environment) runScheduler(deployment string) *program {
	e.t.Helper()
	health := freeAddress(e)
	return e.run("vc-scheduler", deployment, health, "--healthz-address="+health, "--listen-address="+freeAddress(e), "--visibility-bind-address="+freeAddress(e))
}

// run runs a program of this project with the arguments, environment, volumes, and ServiceAccount of a Deployment. It replaces only addresses.
func (e *environment) run(name, deployment, health string, addresses ...string) *program {
	e.t.Helper()
	found, err := e.kube.AppsV1().Deployments(namespace).Get(e.ctx, deployment, metav1.GetOptions{})
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(*found.Spec.Replicas).To(BeNumerically(">", 0), "replicas of %s", deployment)
	p := &program{environment: e, folder: e.t.TempDir(), health: health, pod: found.Spec.Template.Spec}
	container := p.pod.Containers[0]
	paths := p.mount(found)
	args := []string{"guard", filepath.Join(root, "bin", name), "--kubeconfig=" + p.kubeconfig()}
	for _, arg := range container.Args {
		args = append(args, paths.Replace(arg))
	}
	p.log = filepath.Join(p.folder, "log")
	log, err := os.Create(p.log)
	e.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	p.process = exec.Command(filepath.Join(root, "bin/controlplane"), append(args, addresses...)...)
	for _, v := range container.Env {
		value := paths.Replace(v.Value)
		if v.ValueFrom != nil {
			e.Expect(v.ValueFrom.FieldRef.FieldPath).To(Equal("status.podIP"), v.Name)
			value = e.podIP(found)
		}
		p.process.Env = append(p.process.Env, v.Name+"="+value)
	}
	p.process.Stdout, p.process.Stderr = log, log
	stdin, err := p.process.StdinPipe()
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(p.process.Start()).To(Succeed())
	e.t.Cleanup(func() {
		if p.process.ProcessState == nil {
			p.kill()
		}
		_ = stdin.Close()
		if e.t.Failed() {
			e.t.Logf("the log of %s:\n%s", deployment, p.read())
		}
	})
	e.Eventually(func() (string, error) { return get("http://" + p.health + "/healthz") }).Should(Equal("ok"), p.read)
	return p
}

func (e *environment) podIP(of *appsv1.Deployment) (address string) {
	e.t.Helper()
	e.Eventually(func() (string, error) {
		pods, err := e.kube.CoreV1().Pods(of.Namespace).List(e.ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(of.Spec.Selector)})
		if err != nil {
			return "", err
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && pod.Status.PodIP != "" {
				address = pod.Status.PodIP
			}
		}
		return address, nil
	}).ShouldNot(BeEmpty(), "the address of a pod of %s", of.Name)
	return address
}

// mount creates the pod's volumes in the folder of the process. The replacer maps paths in the container to these.
func (p *program) mount(of *appsv1.Deployment) *strings.Replacer {
	p.t.Helper()
	var paths []string
	for _, mount := range p.pod.Containers[0].VolumeMounts {
		folder := filepath.Join(p.folder, mount.Name)
		p.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
		paths = append(paths, mount.MountPath, folder)
		for _, volume := range p.pod.Volumes {
			if volume.Name != mount.Name || volume.ConfigMap == nil {
				continue
			}
			configuration, err := p.kube.CoreV1().ConfigMaps(of.Namespace).Get(p.ctx, volume.ConfigMap.Name, metav1.GetOptions{})
			p.Expect(err).NotTo(HaveOccurred())
			for name, content := range configuration.Data {
				p.write(filepath.Join(folder, name), content, 0o644)
			}
		}
	}
	return strings.NewReplacer(paths...)
}

// kubeconfig writes a kubeconfig with a token of the pod's ServiceAccount, and returns its file.
func (p *program) kubeconfig() string {
	p.t.Helper()
	account := p.pod.ServiceAccountName
	token, err := p.kube.CoreV1().ServiceAccounts(namespace).CreateToken(p.ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	p.Expect(err).NotTo(HaveOccurred())
	admin := p.cluster.Config()
	file := filepath.Join(p.folder, "kubeconfig")
	p.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: admin.Host, CertificateAuthorityData: admin.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "c",
	}, file)).To(Succeed())
	return file
}

func (p *program) kill() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}

// stop ends the process as kubelets do. It removes the lease of a scheduler, as if it had expired.
func (p *program) stop() {
	p.t.Helper()
	p.Expect(p.process.Process.Signal(syscall.SIGTERM)).To(Succeed())
	hangs := time.AfterFunc(timeout, func() { _ = p.process.Process.Kill() })
	defer hangs.Stop()
	p.Expect(p.process.Wait()).To(Succeed(), p.read)
	p.Expect(p.kube.CoordinationV1().Leases(namespace).DeleteCollection(p.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
}

func (p *program) read() string {
	text, err := os.ReadFile(p.log)
	p.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// expectNoProblems checks that the scheduler had all permissions, is ready, and serves its probes.
func (p *program) expectNoProblems() {
	p.t.Helper()
	container := p.pod.Containers[0]
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		p.Expect(fmt.Sprint(ports[probe.HTTPGet.Port.StrVal])).To(Equal("11251"), "the scheduler's default")
		p.Eventually(func() (string, error) { return get("http://" + p.health + probe.HTTPGet.Path) }).Should(Equal("ok"))
	}
	p.Expect(container.Args).To(ContainElements("--healthz-address=:11251", "--listen-address=:8080"))
	p.Expect(filepath.Join(p.folder, "tmp/klog-socks/klog-klog.sock")).To(BeAnExistingFile())
	p.expectNothingForbidden()
}

func (p *program) expectNothingForbidden() {
	p.t.Helper()
	for line := range strings.Lines(p.read()) {
		p.Expect(line).NotTo(SatisfyAny(ContainSubstring("forbidden"), ContainSubstring("panic")))
	}
}

func get(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func freeAddress(e *environment) string {
	e.t.Helper()
	address, release, err := cluster.ReserveAddress()
	e.Expect(err).NotTo(HaveOccurred())
	e.t.Cleanup(release)
	return address
}
