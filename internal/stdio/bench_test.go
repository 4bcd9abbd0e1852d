package stdio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"skill-mcp/internal/rpc"
)

// The figures to hold against mcp-go's own stdio server, same tool, same pipes:
// a small call at most 0.5 of its time, results of 1 and 4 MiB at most 0.3.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{16, 1 << 20, 4 << 20} {
		// JSON in JSON is what the tools send: every tenth byte is a quote.
		text := strings.Repeat(`"path":"a<b",`, size/13+1)[:size]
		handler := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(text), nil
		}
		mcpServer := server.NewMCPServer("test", "1")
		mcpServer.AddTool(mcp.NewTool("t"), handler)
		b.Run(fmt.Sprintf("ours/%d", size), func(b *testing.B) {
			drive(b, func(ctx context.Context, in io.Reader, out io.Writer) {
				_ = Serve(ctx, rpc.New(rpc.Config{
					Handler: mcpServer,
					Tools:   func(string) server.ToolHandlerFunc { return handler },
				}), in, out, Options{})
			})
		})
		b.Run(fmt.Sprintf("stock/%d", size), func(b *testing.B) {
			drive(b, func(ctx context.Context, in io.Reader, out io.Writer) {
				_ = server.NewStdioServer(mcpServer).Listen(ctx, in, out)
			})
		})
	}
}

func drive(b *testing.B, serve func(context.Context, io.Reader, io.Writer)) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); serve(b.Context(), inR, outW) }()
	answers := bufio.NewReaderSize(outR, 1<<20)
	for i := 0; b.Loop(); i++ {
		if _, err := fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{}}}`+"\n", i); err != nil {
			b.Fatal(err)
		}
		for {
			part, err := answers.ReadSlice('\n')
			if err == nil {
				break
			}
			if err != bufio.ErrBufferFull {
				b.Fatal(err, len(part))
			}
		}
	}
	_ = inW.Close()
	<-done
	_ = outR.Close()
}
