// The official TypeScript skill server: the SDK's skills loader over a folder,
// served over stdio. The bench compares the product with it.
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';

const server = new McpServer({ name: 'skills', version: '1' });
server.registerTool('nothing', { description: 'Does nothing.' }, async () => ({ content: [{ type: 'text', text: 'done' }] }));
(await loadSkills(process.argv[2])).attach(server);
await server.connect(new StdioServerTransport());
