// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

var _ = Describe("the visibility endpoint", func() {
	It("tells the administrator, through the API server, what queues, workloads and pods have", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("holds", queue, 1))
		f.expectRunning(ctx, "holds", 1)
		see := visibility(controlPlane.Config())

		Eventually(func(g Gomega) {
			told, err := see.Queues(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(told.Kind).To(Equal("QueueList"))
			g.Expect(told.Items).To(ContainElement(And(HaveField("Name", queue), HaveField("Figures",
				ContainElement(And(HaveField("Name", f.class), HaveField("Allocated.String()", "1")))))))
			workloads, err := see.Workloads(ctx, f.namespace)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(workloads.Items).To(ConsistOf(HaveField("Queue", queue)))
			holders, err := see.Holders(ctx, client.HolderQuery{Queue: queue, Dimension: f.class})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(holders.Items).To(ConsistOf(And(HaveField("Namespace", f.namespace), HaveField("Name", "holds-worker-0"))))
		}).WithContext(ctx).Should(Succeed())
		_, err := see.Holders(ctx, client.HolderQuery{Queue: "nobody-has-it"})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		must(see.History(ctx))
	})

	It("tells a user what roles allow: their namespace, and queues", func(ctx context.Context) {
		f, other := newFixture(ctx), newFixture(ctx)
		name := f.namespace + "-alice"
		alice := controlPlane.Config()
		alice.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
		see := visibility(alice)

		_, err := see.Queues(ctx)
		Expect(err).NotTo(HaveOccurred(), "everybody sees queues")
		_, err = see.Workloads(ctx, f.namespace)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		f.bind(ctx, name, "view")
		Eventually(func() error { _, err := see.Workloads(ctx, f.namespace); return err }).WithContext(ctx).Should(Succeed())
		Eventually(func() error {
			_, err := see.Holders(ctx, client.HolderQuery{Namespace: f.namespace})
			return err
		}).WithContext(ctx).Should(Succeed())
		for _, namespace := range []string{other.namespace, ""} {
			_, err = see.Workloads(ctx, namespace)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "workloads of %q: %v", namespace, err)
			_, err = see.Holders(ctx, client.HolderQuery{Namespace: namespace})
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "holders of %q: %v", namespace, err)
		}
		_, err = see.Explain(ctx, "pods", other.namespace, "any")
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})

	It("explains to a user why a job waits, without the names of pods in other namespaces", func(ctx context.Context) {
		f, other := newFixture(ctx), newFixture(ctx)
		parent := other.queue(ctx, "team", "root", limit(other.class, 2))
		other.submit(ctx, gang("secret", parent, 1))
		other.expectRunning(ctx, "secret", 1)
		f.template(ctx, "of-other-class", exactly(other.class, 1))
		f.submit(ctx, gang("mine", parent, 2).startingWith(1).fromTemplate("of-other-class"))
		name := f.namespace + "-bob"
		f.bind(ctx, name, "view")
		bob := controlPlane.Config()
		bob.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}

		Eventually(func(g Gomega) {
			all, err := visibility(controlPlane.Config()).Explain(ctx, "jobs", f.namespace, "mine")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(all.Cause).NotTo(BeNil())
			g.Expect(all.Cause.Queue).To(Equal(parent))
			g.Expect(all.Holders).To(ContainElement(HaveField("Name", "secret-worker-0")))
			shown, err := visibility(bob).Explain(ctx, "jobs", f.namespace, "mine")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown.Cause).To(Equal(all.Cause))
			g.Expect(shown.Holders).To(ContainElement(And(HaveField("Namespace", other.namespace), HaveField("Name", ""))))
			text, err := json.Marshal(shown)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).NotTo(ContainSubstring("secret"))
		}).WithContext(ctx).Should(Succeed())
	})

	It("is reached directly with a token or a client certificate, too, and not without", func(ctx context.Context) {
		f := newFixture(ctx)
		_, err := visibility(direct(controlPlane.Config())).Workloads(ctx, "")
		Expect(err).NotTo(HaveOccurred(), "the administrator's certificate")

		accounts := kube.CoreV1().ServiceAccounts(f.namespace)
		must(accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}))
		token := must(accounts.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](600)},
		}, metav1.CreateOptions{}))
		robot := rest.AnonymousClientConfig(controlPlane.Config())
		robot.BearerToken = token.Status.Token
		must(visibility(direct(robot)).Queues(ctx))
		_, err = visibility(direct(robot)).Workloads(ctx, f.namespace)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)

		forOthers := must(accounts.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"somebody-else"}, ExpirationSeconds: ptr.To[int64](600)},
		}, metav1.CreateOptions{}))
		for _, token := range []string{"", "forged", forOthers.Status.Token} {
			nobody := rest.AnonymousClientConfig(controlPlane.Config())
			nobody.BearerToken = token
			_, err = visibility(direct(nobody)).Queues(ctx)
			Expect(apierrors.IsUnauthorized(err)).To(BeTrue(), "token %q: %v", token, err)
			_, err = visibility(nobody).Queues(ctx)
			Expect(apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)).To(BeTrue(), "token %q, through the API server: %v", token, err)
		}
	})

	It("does not believe the headers of somebody who is not the API server", func(ctx context.Context) {
		config := direct(rest.AnonymousClientConfig(controlPlane.Config()))
		config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r.Header.Set("X-Remote-User", "system:admin")
				r.Header.Set("X-Remote-Group", "system:masters")
				return next.RoundTrip(r)
			})
		}
		_, err := visibility(config).Queues(ctx)
		Expect(apierrors.IsUnauthorized(err)).To(BeTrue(), "%v", err)
	})

	It("streams updates and serves the web page through the API server", func(ctx context.Context) {
		const path = "/apis/visibility.devicequota.io/v1alpha1/"
		page := must(kube.Discovery().RESTClient().Get().AbsPath(path + "ui/").DoRaw(ctx))
		Expect(string(page)).To(ContainSubstring("<script"))

		stream := must(kube.Discovery().RESTClient().Get().AbsPath(path+"updates").Param("watch", "true").Stream(ctx))
		defer stream.Close()
		events := 0
		for lines := bufio.NewScanner(stream); events < 2 && lines.Scan(); {
			if lines.Text() == "event: snapshot" {
				events++
			}
		}
		Expect(events).To(Equal(2), "sessions go on, and each is told")
	})

	It("leaves the name queues to Volcano", func(ctx context.Context) {
		var lists []*metav1.APIResourceList
		Eventually(func() (err error) { // the API server asks the scheduler anew if that was restarted
			lists, err = kube.Discovery().ServerPreferredResources()
			return err
		}).WithContext(ctx).Should(Succeed())
		var groups []string
		for _, list := range lists {
			for _, resource := range list.APIResources {
				if resource.Name == "queues" {
					groups = append(groups, list.GroupVersion)
				}
			}
		}
		Expect(groups).To(Equal([]string{schedulingv1beta1.SchemeGroupVersion.String(), v1alpha1.SchemeGroupVersion.String()}), "kubectl takes the first")
	})
})

// bind binds a user to a ClusterRole in the namespace of the case.
func (f *fixture) bind(ctx context.Context, user, role string) {
	must(f.kube.RbacV1().RoleBindings(f.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bound-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}, metav1.CreateOptions{}))
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func visibility(config *rest.Config) *client.Client {
	return must(client.New(config))
}

// direct returns a configuration for the scheduler itself. Its certificate is self-signed.
func direct(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = controlPlane.VisibilityURL()
	config.TLSClientConfig.Insecure, config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile = true, nil, ""
	return config
}
