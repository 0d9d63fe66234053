// A server on Mastra. It knows revision 2026-07-28 alone, has no completion,
// and reads only resources that it lists.
import { createTool } from '@mastra/core/tools';
import { MCPServer } from '@mastra/mcp';
import { z } from 'zod';
import { Calls, counts, forecast, greeting, listen, note, question, weather } from './peer.mjs';

const calls = new Calls();
let grown = 0;
let edits = 0;

const tool = (id, rest) => createTool({ id, description: id, inputSchema: z.object({}), ...rest });

const server = new MCPServer({
  id: 'mastra',
  name: 'mastra',
  version: '1.0.0',
  instructions: 'Ask it anything.',
  tools: {
    weather: tool('weather', {
      description: 'Made up, from the length of the name', inputSchema: weather.input, outputSchema: weather.output,
      execute: async (args) => weather.of(args),
    }),
    progress: tool('progress', {
      execute: async (_, { mcp }) => {
        for (let progress = 1; progress <= 3; progress++) await mcp.progress({ progress, total: 3, message: `step ${progress}` });
        return 'done';
      },
    }),
    log: tool('log', {
      execute: async (_, { mcp }) => {
        for (const level of ['debug', 'info', 'warning', 'error']) await mcp.log(level, level, { said: level });
        return 'logged';
      },
    }),
    ask: tool('ask', {
      // Mastra applies no defaults when a call comes back with an answer.
      inputSchema: z.object({ rounds: z.int().optional() }),
      resumeSchema: question,
      suspendSchema: z.object({ message: z.string(), answers: z.array(question) }),
      execute: async ({ rounds = 1 }, { suspend, resumeData, suspendPayload }) => {
        const answers = [...(suspendPayload?.answers ?? []), ...(resumeData ? [resumeData] : [])];
        if (answers.length >= rounds) return JSON.stringify(answers);
        await suspend({ message: `Question ${answers.length + 1}`, answers });
      },
    }),
    wait: tool('wait', {
      execute: async (_, { mcp }) => {
        await calls.wait(mcp.extra.signal);
        return 'cancelled';
      },
    }),
    waited: tool('waited', {
      inputSchema: counts.input, outputSchema: counts.output,
      execute: (args, { mcp }) => calls.reach(args, mcp.extra.signal),
    }),
    fail: tool('fail', {
      execute: async () => {
        throw new Error('it did not work');
      },
    }),
    grow: tool('grow', {
      execute: async () => {
        const name = `grown-${++grown}`;
        await server.toolActions.add({ [name]: tool(name, { execute: async () => name }) });
        return name;
      },
    }),
    touch: tool('touch', {
      execute: async () => {
        edits++;
        await server.resources.notifyUpdated({ uri: note.uri });
        return `${edits}`;
      },
    }),
  },
  resources: {
    listResources: async () => [note],
    resourceTemplates: async () => [forecast],
    getResourceContent: async () => ({ text: `edit ${edits}` }),
  },
  prompts: {
    listPrompts: async () => [{
      name: 'greet', description: 'A greeting', arguments: [{ name: 'name', required: true }, { name: 'tone' }],
    }],
    getPromptMessages: async ({ args }) => [{ role: 'user', content: { type: 'text', text: greeting(args.name, args.tone) } }],
  },
});

if (process.argv[2] === 'stdio') {
  await server.startStdio();
} else {
  listen((req, res) => server.startHTTP({ url: new URL(req.url, 'http://127.0.0.1'), httpPath: '/mcp', req, res }));
}
