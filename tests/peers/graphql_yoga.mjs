// A GraphQL API by graphql-yoga, on loopback. Its arguments: the folder `node_modules`, and the port. Who has no token sees no `me`.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [modules, port] = process.argv.slice(2);
const { createGraphQLError, createSchema, createYoga } = await import(pathToFileURL(`${modules}/graphql-yoga/esm/index.js`));

const typeDefs = /* GraphQL */ `
  directive @oneOf on INPUT_OBJECT
  scalar DateTime
  enum Order { NAME AGE }
  input Which @oneOf { id: ID, name: String }
  input NewPet { name: String!, tags: [String!] = ["new"], born: DateTime, parent: NewPet }
  interface Named { name: String! }
  type Cat implements Named { id: ID!, name: String!, age: Int!, lives: Int!, friend: Pet }
  type Dog implements Named { id: ID!, name: String!, age: Float, tricks: [String!]! }
  union Pet = Cat | Dog
  type PetEdge { node: Pet!, cursor: String! }
  type PageInfo { hasNextPage: Boolean!, endCursor: String }
  type PetConnection { edges: [PetEdge!]!, nodes: [Pet!]!, pageInfo: PageInfo!, totalCount: Int! }
  type Query {
    "One pet."
    pet(which: Which!): Pet
    pets(first: Int! = 2, after: ID, orderBy: Order = NAME): PetConnection!
    named: [Named!]!
    me: String!
  }
  type Mutation { addPet(input: NewPet!): String!, removePet(id: ID!): Boolean! }
  type Subscription { tick: Int! }
`;

const pets = ['Ada', 'Bob', 'Cleo', 'Dino', 'Edda'].map((name, n) =>
  n % 2 ? { __typename: 'Dog', id: `${n}`, name, age: n / 2, tricks: ['sit'] } : { __typename: 'Cat', id: `${n}`, name, age: n, lives: 9 });

const Query = {
  pet: (_, { which }) => pets.find((pet) => pet.id === which.id || pet.name === which.name),
  pets: (_, { first, after }) => {
    const start = after == null ? 0 : Number(after) + 1;
    const nodes = pets.slice(start, start + first);
    const last = nodes.at(-1);
    return {
      nodes,
      edges: nodes.map((node) => ({ node, cursor: node.id })),
      totalCount: pets.length,
      pageInfo: { hasNextPage: start + first < pets.length, endCursor: last?.id },
    };
  },
  named: () => pets,
  me: (_, __, { request }) => {
    if (request.headers.get('authorization') === 'Bearer yoga-token-1') return 'Ada';
    throw createGraphQLError('who are you?', { extensions: { code: 'UNAUTHENTICATED', http: { status: 401 } } });
  },
};
const Mutation = { addPet: (_, { input }) => JSON.stringify(input), removePet: () => true };

const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers: { Query, Mutation } }), logging: false });
createServer(yoga).listen(Number(port), '127.0.0.1');
