// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// Updates reports publications of the scheduler. The caller must close it.
type Updates struct {
	stream io.ReadCloser
	reader *bufio.Reader
}

// Updates opens a stream of server-sent events. It ends with ctx, or with the scheduler.
func (c *Client) Updates(ctx context.Context) (*Updates, error) {
	// The API server's timeout for short requests does not end watch requests.
	stream, err := c.rest.Get().Resource("updates").Param("watch", "true").SetHeader("Accept", "text/event-stream").Stream(ctx)
	if err != nil {
		return nil, err
	}
	return &Updates{stream: stream, reader: bufio.NewReader(stream)}, nil
}

// Next waits for an update. The error is io.EOF if the scheduler has ended the stream.
func (u *Updates) Next() error {
	for data, inLine := false, false; ; {
		text, more, err := u.reader.ReadLine() // an event can be longer than any buffer
		if err != nil {
			return err
		}
		begin := !inLine
		inLine = more
		switch {
		case begin && bytes.HasPrefix(text, []byte("data:")):
			data = true
		case begin && len(text) == 0 && data: // a blank line ends an event; comments keep the connection alive
			return nil
		}
	}
}

// Close ends the stream.
func (u *Updates) Close() error { return u.stream.Close() }
