// What the servers in this folder share: how they are started, and what they
// offer. Each is run as `node NAME.mjs stdio` or `node NAME.mjs http`; the
// latter prints where it listens. Both end when their stdin does.
import { createServer } from 'node:http';
import { z } from 'zod';

// listen serves /mcp on a loopback port of the kernel's choice.
export function listen(handle) {
  const server = createServer(handle).listen(0, '127.0.0.1', () => {
    console.log(`interop: listening on http://127.0.0.1:${server.address().port}`);
  });
  process.stdin.resume().on('close', () => process.exit(0));
}

// weather is a tool with both schemas, and a parameter that HTTP carries in a
// header too.
export const weather = {
  input: z.object({ city: z.string().meta({ 'x-mcp-header': 'City' }), days: z.int().default(1) }),
  output: z.object({ city: z.string(), celsius: z.array(z.number()) }),
  of: ({ city, days }) => ({ city, celsius: Array.from({ length: days }, (_, i) => city.length + i) }),
};

// question is what the tool ask wants to know, round after round. The default
// is for the client to fill in.
export const question = z.object({
  answer: z.string().meta({ description: 'Anything' }),
  colour: z.enum(['red', 'green']).optional().meta({ default: 'green' }),
});

export const note = { uri: 'memo://note', name: 'note', mimeType: 'text/plain' };
export const forecast = { uriTemplate: 'memo://weather/{city}', name: 'forecast', mimeType: 'text/plain' };
export const cities = ['Oslo', 'Osaka', 'Lima'];
export const greeting = (name, tone = 'kindly') => `Greet ${name} ${tone}.`;

// Calls counts calls of the tool wait, for the tool waited to tell.
export class Calls {
  counts = { waiting: 0, cancelled: 0 };
  #watchers = new Set();

  #add(name) {
    this.counts[name]++;
    for (const watch of this.#watchers) watch();
  }

  // wait ends with the signal.
  async wait(signal) {
    this.#add('waiting');
    await aborted(signal);
    this.#add('cancelled');
  }

  // reach resolves to the counts once they are at least as given.
  async reach({ waiting = 0, cancelled = 0 }, signal) {
    await new Promise((resolve) => {
      const watch = () => {
        if (this.counts.waiting < waiting || this.counts.cancelled < cancelled) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
      signal.addEventListener('abort', () => this.#watchers.delete(watch));
      watch();
    });
    return { ...this.counts };
  }
}

const aborted = (signal) =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve, { once: true })));

export const counts = {
  input: z.object({ waiting: z.int().optional(), cancelled: z.int().optional() }),
  output: z.object({ waiting: z.int(), cancelled: z.int() }),
};
