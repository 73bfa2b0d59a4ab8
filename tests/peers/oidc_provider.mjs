// An authorization server by oidc-provider, on loopback. Its arguments: the folder `node_modules`, and as JSON the port, the seconds that
// access tokens live, the clients, and the resource that tokens are for unless a client names another one. Three requests are for tests
// alone: GET /-/granted and /-/refused (grant types, the oldest first) and POST /-/lifespan?seconds=N.
import { pathToFileURL } from 'node:url';

const [modules, settings] = process.argv.slice(2);
const library = (name, file) => import(pathToFileURL(`${modules}/${name}/${file}`));
const { Provider, errors } = await library('oidc-provider', 'lib/index.js');
const jose = await library('jose', 'dist/webapi/index.js');

const { port, clients, audience, ...given } = JSON.parse(settings);
const issuer = `http://127.0.0.1:${port}`;
let { lifespan } = given;
const log = { granted: [], refused: [] };
const scopes = 'read write';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

const { privateKey, publicKey } = await jose.generateKeyPair('RS256', { extractable: true });
const key = { ...(await jose.exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };

const server = (resource) => {
  if (resource.includes('refused')) throw new errors.InvalidTarget();
  return { audience: resource, scope: scopes, accessTokenTTL: lifespan, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
};

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [key] },
  cookies: { keys: ['for one run only'] },
  scopes: ['openid', 'offline_access', ...scopes.split(' ')],
  ttl: { Session: 3600, Grant: 3600, Interaction: 600, IdToken: 300, RefreshToken: 3600, AccessToken: () => lifespan },
  rotateRefreshToken: true,
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: ({ oidc }) => (oidc.params.grant_type === EXCHANGE ? { act: { sub: oidc.client.clientId } } : undefined),
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, client, oneOf) => oneOf ?? audience,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => server(resource),
    },
  },
});

// RFC 8693, for access tokens of this server: what another client's token may do, for a resource.
const ACCESS = 'urn:ietf:params:oauth:token-type:access_token';
provider.registerGrantType(
  EXCHANGE,
  async (ctx) => {
    const { params, client } = ctx.oidc;
    if (params.subject_token_type !== ACCESS) throw new errors.InvalidRequest('subject_token_type must be an access token');
    const { payload } = await jose.jwtVerify(params.subject_token ?? '', publicKey, { issuer }).catch(() => {
      throw new errors.InvalidGrant('subject_token is not valid');
    });
    const had = (payload.scope ?? '').split(' ');
    const scope = (params.scope ?? payload.scope ?? '').split(' ').filter((one) => had.includes(one)).join(' ') || undefined;
    const resource = params.resource ?? params.audience ?? audience;
    const token = new provider.AccessToken({ accountId: payload.sub, client, scope });
    token.resourceServer = new provider.ResourceServer(resource, server(resource));
    ctx.body = { access_token: await token.save(), issued_token_type: ACCESS, token_type: 'Bearer', expires_in: lifespan, scope };
  },
  ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'audience', 'scope'],
);

const grant = (ctx) => `${ctx.oidc.params?.grant_type}`;
provider.on('grant.success', (ctx) => log.granted.push(grant(ctx)));
provider.on('grant.error', (ctx, error) => log.refused.push(`${grant(ctx)}: ${error.error}`));

const listener = provider.callback();
const { createServer } = await import('node:http');
createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, issuer);
  if (!pathname.startsWith('/-/')) return listener(request, response);
  if (pathname === '/-/lifespan') lifespan = Number(searchParams.get('seconds'));
  return response.end(JSON.stringify(log[pathname.slice(3)] ?? null));
}).listen(port, '127.0.0.1');
