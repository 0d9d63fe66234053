// A server on the official TypeScript SDK, for both eras. Over HTTP clients of
// older revisions get sessions, resumable streams and a stream of their own
// for what the server says by itself.
import { randomBytes, randomUUID } from 'node:crypto';
import { json } from 'node:stream/consumers';
import {
  completable, createMcpHandler, createRequestStateCodec, inputRequired, inputResponse, isLegacyRequest,
  McpServer, ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { z } from 'zod';
import { Calls, cities, counts, forecast, greeting, listen, note, question, weather } from './peer.mjs';

const calls = new Calls();
const codec = createRequestStateCodec({ key: randomBytes(32) });
const grown = []; // tools added at run time
let edits = 0; // of the note
const sessions = new Map(); // of clients of older revisions, over HTTP
const live = new Set(); // servers that outlive a request
let handler; // of clients of the current revision, over HTTP

const text = (text) => ({ content: [{ type: 'text', text }] });
const starting = (list) => (value) => list.filter((v) => v.toLowerCase().startsWith(value.toLowerCase()));

function build({ era, lives }) {
  const server = new McpServer({ name: 'ts-sdk', version: '1.0.0' }, {
    instructions: 'Ask it anything.',
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: {}, logging: {}, completions: {} },
    requestState: { verify: codec.verify },
  });

  server.registerTool('weather', {
    title: 'Weather', description: 'Made up, from the length of the name', inputSchema: weather.input, outputSchema: weather.output,
  }, (args) => {
    const structuredContent = weather.of(args);
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  server.registerTool('progress', { description: 'Three steps' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= 3; progress++) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3, message: `step ${progress}` } });
    }
    return text('done');
  });
  server.registerTool('log', { description: 'One message a level' }, async (ctx) => {
    for (const level of ['debug', 'info', 'warning', 'error']) await ctx.mcpReq.log(level, { said: level }, 'ts-sdk');
    return text('logged');
  });
  server.registerTool('ask', {
    description: 'Asks so many times', inputSchema: z.object({ rounds: z.int().default(1) }),
  }, async ({ rounds }, ctx) => {
    const answers = ctx.mcpReq.requestState() ?? [];
    const reply = inputResponse(ctx.mcpReq.inputResponses, 'question');
    if (reply.kind === 'elicit') {
      if (reply.action !== 'accept') return text(reply.action);
      answers.push(reply.content);
    }
    if (answers.length >= rounds) return text(JSON.stringify(answers));
    return inputRequired({
      inputRequests: { question: inputRequired.elicit({ message: `Question ${answers.length + 1}`, requestedSchema: question }) },
      requestState: await codec.mint(answers),
    });
  });
  server.registerTool('wait', { description: 'Waits to be cancelled' }, async (ctx) => {
    await calls.wait(ctx.mcpReq.signal);
    return text('cancelled');
  });
  server.registerTool('waited', {
    description: 'Tells how many calls of wait there were, once there were so many', inputSchema: counts.input, outputSchema: counts.output,
  }, async (args, ctx) => {
    const structuredContent = await calls.reach(args, ctx.mcpReq.signal);
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  server.registerTool('fail', { description: 'Fails' }, () => ({ ...text('it did not work'), isError: true }));
  server.registerTool('grow', { description: 'Adds a tool' }, () => {
    const name = `grown-${grown.push(0)}`;
    for (const s of live) register(s, name);
    handler?.notify.toolsChanged();
    return text(name);
  });
  server.registerTool('touch', { description: 'Changes the note' }, async () => {
    edits++;
    for (const s of live) if (s.era === 'modern' || s.subscribed.has(note.uri)) await s.server.sendResourceUpdated({ uri: note.uri });
    handler?.notify.resourceUpdated(note.uri);
    return text(`${edits}`);
  });
  server.registerTool('drop', { description: 'Drops the stream of its own call, then answers' }, (ctx) => {
    ctx.http?.closeSSE?.();
    return text('dropped');
  });
  server.registerTool('forget', { description: 'Forgets all sessions' }, () => {
    sessions.clear();
    return text('forgotten');
  });
  grown.forEach((_, i) => register(server, `grown-${i + 1}`));

  server.registerResource(note.name, note.uri, { mimeType: note.mimeType }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: note.mimeType, text: `edit ${edits}` }],
  }));
  server.registerResource(forecast.name, new ResourceTemplate(forecast.uriTemplate, { list: undefined, complete: { city: starting(cities) } }),
    { mimeType: forecast.mimeType }, (uri, { city }) => ({
      contents: [{ uri: uri.href, mimeType: forecast.mimeType, text: JSON.stringify(weather.of({ city, days: 1 })) }],
    }));
  server.registerPrompt('greet', {
    description: 'A greeting', argsSchema: z.object({ name: completable(z.string(), starting(cities)), tone: z.string().optional() }),
  }, ({ name, tone }) => ({ messages: [{ role: 'user', content: { type: 'text', text: greeting(name, tone) } }] }));

  if (lives) {
    // The SDK serves subscriptions of the current revision alone.
    server.era = era;
    server.subscribed = new Set();
    server.server.setRequestHandler('resources/subscribe', ({ params }) => (server.subscribed.add(params.uri), {}));
    server.server.setRequestHandler('resources/unsubscribe', ({ params }) => (server.subscribed.delete(params.uri), {}));
    live.add(server);
    server.server.onclose = () => live.delete(server);
  }
  return server;
}

const register = (server, name) => server.registerTool(name, { description: 'Was not there before' }, () => text(name));

// Events are what a client gets again that lost a stream.
class Events {
  #events = [];

  async storeEvent(streamId, message) {
    return `${this.#events.push({ streamId, message })}`;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.#events[Number(lastEventId) - 1];
    for (const [i, event] of this.#events.entries()) {
      if (i >= Number(lastEventId) && event.streamId === streamId) await send(`${i + 1}`, event.message);
    }
    return streamId;
  }
}

async function legacy(req, res, body) {
  const id = req.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (id && !transport) {
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }));
    return;
  }
  if (!transport) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new Events(), retryInterval: 50,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await build({ era: 'legacy', lives: true }).connect(transport);
  }
  await transport.handleRequest(req, res, body);
}

if (process.argv[2] === 'stdio') {
  serveStdio(({ era }) => build({ era, lives: true }));
} else {
  handler = createMcpHandler(({ era }) => build({ era }), { legacy: 'reject' });
  const modern = toNodeHandler(handler);
  listen(async (req, res) => {
    const body = req.method === 'POST' ? await json(req) : undefined;
    await ((await isLegacyRequest(await toWebRequest(req, body))) ? legacy : modern)(req, res, body);
  });
}
