// A session of ioredis with a server: node session.js HOST PORT [PASSWORD].
'use strict';

const assert = require('node:assert/strict');
const Redis = require('ioredis');

const [host, port, password] = process.argv.slice(2);
const client = new Redis({ host, port: Number(port), password: password || undefined, connectionName: 'session', maxRetriesPerRequest: 1 });

async function strings() {
  assert.equal(await client.set('a', '1'), 'OK');
  assert.equal(await client.incrby('a', 41), 42);
  assert.equal(await client.get('a'), '42');
  assert.equal(await client.get('none'), null);
  assert.equal(await client.mset({ b: '1', c: '2' }), 'OK');
  assert.deepEqual(await client.mget('b', 'none', 'c'), ['1', null, '2']);
  assert.equal(await client.set('a', 'x', 'NX'), null);
  assert.equal(await client.set('a', 'x', 'EX', 100, 'GET'), '42');
  assert.equal(await client.ttl('a'), 100);
  const binary = Buffer.alloc(100000, 'a\0\r\n');
  assert.equal(await client.set('binary', binary), 'OK');
  assert.deepEqual(await client.getBuffer('binary'), binary);
  await assert.rejects(client.incr('binary'), /ERR value is not an integer or out of range/);
  const replies = await client.pipeline().set('p', '1').incr('p').get('p').call('NOSUCH').exec();
  assert.deepEqual(replies.slice(0, 3), [[null, 'OK'], [null, 2], [null, '2']]);
  assert.match(replies[3][0].message, /ERR unknown command 'NOSUCH'/);
}

async function keys() {
  await client.select(1);
  assert.equal(await client.flushdb(), 'OK');
  const wanted = new Set();
  for (let i = 0; i < 300; i++) wanted.add(`key:${i}`);
  await Promise.all([...wanted].map((key) => client.set(key, 'x')));
  assert.equal(await client.dbsize(), 300);
  for await (const found of client.scanStream({ match: 'key:*', count: 50 })) found.forEach((key) => wanted.delete(key));
  assert.equal(wanted.size, 0);
  assert.equal(await client.del('key:1', 'key:2', 'none'), 2);
  assert.equal(await client.exists('key:1', 'key:3'), 1);
  assert.equal(await client.type('key:3'), 'string');
  await client.select(0);
}

async function server() {
  assert.equal(await client.ping(), 'PONG');
  assert.equal(await client.client('GETNAME'), 'session');
  assert.deepEqual(await client.config('GET', 'save'), ['save', '']);
  assert.match(await client.info('server'), /pyrope_version:/);
  assert.equal((await client.command('INFO', 'get'))[0][0], 'get');
  assert.equal((await client.time()).length, 2);
  assert.match(await client.client('LIST'), /name=session/);
}

(async () => {
  await strings();
  await keys();
  await server();
  assert.equal(await client.quit(), 'OK');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
