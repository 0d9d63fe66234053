// Loaded into a server before its own code (node --require): whatever port it
// asks for, it gets one of the kernel's choice, on loopback only, and says
// where on stderr.
'use strict';
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  const done = args.filter((a) => typeof a === 'function');
  this.once('listening', () => {
    process.stderr.write(`\ninterop: listening on http://127.0.0.1:${this.address().port}\n`);
  });
  return listen.call(this, 0, '127.0.0.1', ...done);
};
