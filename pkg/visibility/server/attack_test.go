// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// raw connects without HTTP.
func (f *fixture) raw(config *tls.Config) (*tls.Conn, error) {
	config.InsecureSkipVerify = true
	return tls.Dial("tcp", f.url[len("https://"):], config)
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	f := newFixture(t)
	if connection, err := f.raw(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		connection.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

func TestAnswersAreNoPagesForBrowsers(t *testing.T) {
	f := newPublishedFixture(t)
	for _, path := range []string{"/queues", "/queues/none", "/nothing", "/ui", "/updates"} {
		ctx, leave := context.WithCancel(t.Context())
		response := f.request(ctx, token("root"), http.MethodGet, versionPath+path)
		for header, want := range map[string]string{
			"Content-Security-Policy": nothing, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", path, header, got, want)
			}
		}
		leave()
		response.Body.Close()
	}
}

func TestNoPathLeadsOutOfThePage(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{
		"/ui/../queues", "/ui/%2e%2e/queues", "/ui/..%2fqueues", "/ui/..%5cqueues", "/ui//queues/../../queues", "/ui/x/../../queues", "/ui/../../../../etc/passwd",
		"/ui/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/ui/\\..\\queues",
	} {
		connection := must(f.raw(&tls.Config{}))(t)
		fmt.Fprintf(connection, "GET %s%s HTTP/1.1\r\nHost: scheduler\r\nConnection: close\r\n\r\n", versionPath, path)
		answer := string(must(io.ReadAll(connection))(t))
		connection.Close()
		if strings.Contains(answer, `"items"`) || strings.Contains(answer, "root:") || strings.HasPrefix(answer, "HTTP/1.1 5") {
			t.Errorf("%s: %s", path, answer)
		}
	}
}

func TestHugeRequestsAreRefused(t *testing.T) {
	f := newPublishedFixture(t)
	status, body := f.ask(token("root"), versionPath+"/holders?dimension="+strings.Repeat("x", 50<<10))
	if status != http.StatusOK || !strings.Contains(body, `"items":[]`) {
		t.Errorf("a long query: %d %.200s", status, body)
	}
	connection := must(f.raw(&tls.Config{}))(t)
	defer connection.Close()
	// The server may close the connection before it has read everything.
	_, _ = fmt.Fprintf(connection, "GET %s/queues?%s HTTP/1.1\r\nHost: scheduler\r\n\r\n", versionPath, strings.Repeat("x", 1<<20))
	if answer, _ := io.ReadAll(connection); len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 431") {
		t.Errorf("a huge query: %.200s", answer)
	}
	if status, _ := f.ask(token("root"), versionPath+"/queues"); status != http.StatusOK {
		t.Errorf("%d afterwards", status)
	}
}

func TestWhoMayNotSeeQueuesDoesNotLearnWhichExist(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow("alice list holders team-a")
	f.publisher.Publish(published())
	var answers []string
	for _, queue := range []string{"b", "none"} {
		status, body := f.ask(token("alice"), versionPath+"/namespaces/team-a/holders?queue="+queue)
		answers = append(answers, fmt.Sprint(status, body))
	}
	if answers[0] != answers[1] {
		t.Errorf("a queue that exists: %s; one that does not: %s", answers[0], answers[1])
	}
}

func TestRapidResetsStartFewHandlers(t *testing.T) {
	var started atomic.Int32
	release := make(chan struct{})
	f := newFixture(t, func(s *Server) {
		s.page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			started.Add(1)
			<-release
		})
	})
	defer close(release)
	connection := must(f.raw(&tls.Config{NextProtos: []string{"h2"}}))(t)
	defer connection.Close()
	must(io.WriteString(connection, http2.ClientPreface))(t)
	framer := http2.NewFramer(connection, connection)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, connection)
	}()
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	refused := false
	for i := uint32(0); i < 10_000 && !refused; i++ {
		headers.Reset()
		for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "scheduler"}, {":path", versionPath + "/ui/"}} {
			if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
				t.Fatal(err)
			}
		}
		id := 2*i + 1
		refused = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers.Bytes(), EndHeaders: true, EndStream: true}) != nil ||
			framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil
	}
	<-closed
	if got := started.Load(); got > 250 {
		t.Errorf("%d handlers have been started", got)
	}
	if status, _ := f.ask(asker{}, "/healthz"); status != http.StatusOK {
		t.Errorf("others: %d", status)
	}
}
