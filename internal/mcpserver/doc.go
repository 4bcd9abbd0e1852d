// Package mcpserver is what an MCP client sees: four tools, prompts,
// resources, and the Skills extension, over the skills of a catalog.
//
// It shapes answers and asks for approval. It cannot start a process, does not
// read the environment, opens no file itself (the catalog does), and a script
// runs only behind the runner's wall after package confirm accepted an
// approval. cmd makes one Server for each process and hands its Dispatcher to
// a transport.
//
// What is served at one time is a View. Every call takes the view once and
// keeps it, so that a reload never mixes two scans in one answer.
package mcpserver
