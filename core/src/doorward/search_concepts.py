"""What means the same, or about the same, in the language of APIs: data for the search, general on purpose.

One group a line, its members apart by commas; a member may be several words. Members of `SAME` stand for one another; members of
`RELATED` hint at one another. A word may be in several groups.
"""

SAME = """
repository, repo, git repository
organization, organisation, org, company
pull request, pr, merge request, pulls
issue, ticket, bug, defect
user, person, people, account holder
member, membership, participant
maintainer, administrator, admin, owner
developer, engineer, coder, programmer
colleague, coworker, teammate, user
comment, remark, note, reply
discussion, conversation, thread, comments
image, picture, photo
attachment, attached file
file, document
folder, directory
content, body, text
configuration, config, settings, preferences, options
environment, env
variable, var
message, mail, email, e-mail
text message, sms
notify, notification, alert
customer, client, buyer, shopper, consumer
merchant, seller, vendor, supplier
product, item, article, goods
invoice, bill
payment, pay, charge
dispute, chargeback
coupon, discount, promotion, voucher
promotion code, promo code, coupon code
subscription, plan
price, cost, tariff, rate
money, funds, cash, balance
payout, withdrawal
bank account, iban
card, credit card, debit card
payment page, checkout, hosted checkout, payment link
cart, basket
order, purchase
tax, vat, gst
quote, estimate, offer
currency, exchange rate, forex
passport, identity document, identity verification, driving license
employee, staff, worker
star, favourite, favorite, like, bookmark, stargazer
watch, subscribe, follow, watcher, follower, subscriber
vote, upvote, poll
reaction, emoji, thumbs up, thumbs down
label, tag
topic, tag, keyword
milestone, sprint, iteration
branch, ref
commit, revision, changeset
diff, difference, compare, changes, changed
merge, join, combine
release, version
latest, newest, last, most recent
workflow, pipeline, build, ci
job, task
run, execution
runner, agent, worker
artifact, artefact
log, logs, output, print
history, changelog, change log, audit, changed by
audit, audit log, audit trail, audit records
statistics, stats, metrics, analytics, insights, usage
traffic, views, visits, visitors
contributor, author, committer
collaborator, access
permission, right, allowed, authorization, access, privilege, may
role, permission
credential, password, secret, token, key
api key, access key, api token
login, log in, sign in, signin, authenticate, authentication, auth
logout, log out, sign out
register, sign up, signup, enroll
current user, authenticated user, logged in, myself, who am i, whoami, profile
vulnerability, security alert, cve, advisory
leak, secret scanning, exposed secret
dependency, package
limit, quota, cap, threshold
rate limit, requests left, quota
remaining, left, quota
server, machine, node, host, instance, vm
container, pod
cluster, kubernetes
deployment, deploy, rollout, roll out
replica, scale
autoscale, autoscaler, autoscaling, scale automatically
namespace, project space
disk, volume, storage, space
cron job, scheduled job, schedule, nightly, every night, every day, every hour, periodic
batch, bulk, multiple, many, several, at once
port forward, portforward, tunnel, forward port
exec, execute, command, shell, terminal
network policy, firewall, security group
network, networking
load balancer, balancer
health, status, ready, alive, healthy, readiness, liveness
state, status, condition
transition, move, change status
schedulable, unschedulable, cordon, taint
evict, eviction, drain
memory, ram
cpu, processor, compute
resize, resource limits
ip address, ip, address, endpoint
certificate, tls, ssl, certificate signing
custom resource, custom resource definition, crd
project, workspace
board, kanban
dashboard, panel
gadget, widget
filter, saved search, view
query, search, expression
jql, query language
field, attribute, property, column
option, choice, value, dropdown
group, team
channel, room, chat
assign, assignee, responsible
reviewer, review, approve
approve, accept, confirm, approval
reject, decline, deny, refuse
close, finish, complete, resolve, done
reopen, open again
archive, store away
restore, undelete, bring back, recover
undo, revert, reverse, reversal, take back, roll back, rollback
void, annul, invalidate
cancel, abort, stop, terminate
start, launch, boot, begin
run, trigger, dispatch, execute, invoke, start
restart, reboot, rerun, re run, retry, repeat
pause, suspend, hold
resume, unpause, continue
enable, turn on, activate, switch on
disable, turn off, deactivate, switch off
send, deliver, dispatch
upload, attach
download, export, archive
import, migrate, migration
copy, clone, duplicate
fork, copy of repository
move, transfer, relocate, hand over
rename, change name
convert, render, transform, turn into
link, connect, relate, associate
unlink, disconnect, detach, dissociate
attach, add
sync, synchronize, up to date, bring up to date, refresh
lock, freeze
unlock, unfreeze
block, ban, blocklist, denylist
unblock, unban
kick, remove member, expel
invite, invitation, collaborator
share, share permission, public link
protect, protection, rule, ruleset, forbid
validate, verify, check, valid
verify, verification, prove
calculate, compute, calculation
preview, upcoming, forecast, next
report, reporting
event, activity, what happened, happened, occurrence
webhook, hook, callback, web hook
push, pushed
worklog, work log, time spent, time tracking, hours, log work, log time
due date, deadline
component, module, part
kind, type, category
priority, severity, urgency
sub issue, subtask, child issue
blocked by, dependency
relation, link
language, programming language
version, release
info, information, details, metadata, about
banner, announcement
license, licence
readme, read me
zip, zipball, archive, tarball
snippet, gist, paste
ssh key, deploy key, public key
codespace, dev environment, development environment
markdown, html
page, site, website
url, link, web page, address
sbom, bill of materials, software bill of materials
pdf, printable
evidence, proof
uncollectible, bad debt, write off
metered, usage, usage record, consumption
fraud, suspicious, radar, risk
reader, terminal, point of sale
onboard, account link, onboarding
connected account, sub account, subaccount
save, keep, store, on file
detach, unlink, remove
phone, telephone, call
phone number, number
contact, address book
calendar, appointment, meeting
list, mailing list
campaign, newsletter
recipient, addressee
template, blueprint, preset
database, db
table, collection
record, row, entry
backup, snapshot
dns, domain, zone
firewall, rule
model, ai model, llm
prompt, completion
chat, conversation
transcription, transcribe, speech to text
speech, text to speech, voice, audio
embedding, vector
vector, point
movie, film, video
weather, forecast, temperature
location, place, position
station, stop

"""

RELATED = """
account link, onboarding, onboard, express account
application fee, platform fee, commission
balance transaction, ledger, movement, statement
capture, settle, authorized, authorization, hold
credit note, credit memo
tax id, vat number, tax number
customer balance, store credit
financial connections, bank linking, link bank
identity verification, kyc, know your customer, identity document, id check
finalize, issue, close
send invoice, email invoice, mail invoice
mark uncollectible, bad debt, write off
invoice item, line item, invoice line, line
payment method, wallet, saved card, stored payment method
detach, unlink, forget
early fraud warning, fraud alert, radar
value list, blocklist, block list, allowlist, allow list, denylist
report run, financial report, statement, accounting
shipping rate, delivery cost, postage
subscription item, seat, quantity
subscription schedule, future subscription, planned change
usage record, meter, metered, consumption, report usage
authorization, purchase, transaction, card payment
cardholder, employee, card owner
issuing, issue card, virtual card, physical card
reversal, take back, return, undo
topup, top up, add funds, deposit
webhook endpoint, callback url, notify url, webhook
search, look up, lookup, find by, find
upcoming, next, preview, forecast
dispute, evidence, chargeback
dispute, claim, complaint
close, accept, lose, concede
product, sell, catalog, inventory
price, cost, amount
pause, resume, collection
stargazer, star, starred, popular
watcher, subscriber, subscription, watching
branch protection, ruleset, force push, protected branch, protection rule
status check, check run, ci status, build status
code scanning, static analysis, sast
dependabot, vulnerable dependency, vulnerable, dependency alert, outdated
secret scanning, leaked, leaked secret, exposed credentials, exposed
asset, binary, attachment, file
release, publish, published, latest release
content, contents, blob, read file
readme, introduction, front page
topic, keyword, subject
referrer, traffic source
interaction limit, restrict comments
outside collaborator, external contributor
invitation, invite, pending member
membership, belong, member
self hosted runner, build machine, build agent, runner
workflow dispatch, run workflow, trigger workflow, start workflow, manually
rerun, re run, retry, run again, failed jobs
logs, log output, output
cache, cached, storage
variable, environment variable, secret
encrypted, secret, public key
compare, difference, between, basehead
contributor, contributed, author
language, programming language, written in
transfer, new owner, hand over
archive, zipball, tarball, zip, tar
reaction, emoji, thumbs up, heart, like
sub issue, child, parent
lock, conversation
gist, snippet
followers, follow, following
block user, ban, blocked
rate limit, requests, throttle
authenticated user, me, mine
workflow run, ci run, build, pipeline
cancel run, stop run, abort build
assignee, assigned, responsible, owner
reviewer, reviewers, requested reviewers, ask review, review
merged, merge
commits, history, commit history
namespace, tenant, environment, project
node, machine, server, worker, host
cordon, unschedulable, drain, node
pod log, container output, print, stdout
exec, run command, shell, inside container, inside pod
eviction, evict, move away
portforward, port forward, forward port
create deployment, deploy, roll out, launch app
scale, replicas, number of replicas, instances
stateful set, database
daemon set, every node, each node
config map, configuration, settings, configmap
service, expose, load balancer, internal address
ingress, http route, external traffic, hostname, domain
cron job, recurring job, schedule, every night, nightly, periodically
job, one off, batch, run once
horizontal pod autoscaler, autoscale, autoscaler, scale automatically, hpa
persistent volume claim, pvc, disk space, claim storage
persistent volume, pv, disk
storage class
event, recent events
role binding, grant role, give role, bind role, assign role
cluster role, cluster wide permissions
service account token, token for service account
resource quota, limit range, limit memory, memory limit, limit cpu
network policy, firewall, restrict traffic, network traffic, isolate
certificate signing request, certificate request, csr
approval, approve
custom resource definition, custom resource, crd, new kind of object
code version, server version, cluster version
component status, control plane, cluster health, components
collection, delete all, all of them, everything
pod disruption budget, keep running, minimum available, maintenance
endpoints, endpoint slice
priority class, scheduling priority
runtime class, container runtime
transition, change status, workflow step, state, next state
create issues, bulk create
edit issue, change summary, change description, change title
changelog, history, changed
worklog, log work, hours, time tracking, time spent
remote link, web page, external url
issue link, related, relate, connect issues, linked
issue link type, link kinds
add watcher, watch, follow issue
notify, send email, notification
restore, bring back
version, release version, fix version, release
merge versions, combine
unresolved, open, left
filter, saved search, saved filter, query
share permission, share, shared
gadget, widget, tile
assignable, who can be assigned
find users, find person, colleague, people search, by name
custom field, own field, extra field
field option, dropdown, choices, option, custom field option, select list
issue type, ticket type, kind of ticket
audit record, audit trail, audit log
announcement, banner
project lead, lead of project, update project
security level, visibility, who can see
permission, allowed, my permissions
current user, myself, my profile
server info
worklog, work, hours
cancel task, background task
actor
watch, stop watching, unwatch, remove watcher
remaining, left, limit
how many, how much, number of, count, total
commit file, save file, write file, push file, changed file, file contents, create or update file
give up, surrender, concede, accept, close, abandon
may i, am i allowed, allowed to, can i, permission, access review, my permissions
manage, administer, portal, settings
billing, invoice, billing portal, charge
self service, portal
debug container, ephemeral container, ephemeralcontainers
cpu, memory, resources, resize, resource quota, limit range
replica, replicas, scale
api group, api versions, api resources
validate token, verify token, token valid, introspect, token review
valid, validate, parse, check, verify, review
server info, server version, system info, about
person, user, actor, principal, member
web page, remote link, external link, url, website
image, deployment, rollout
save, keep, attach, setup
original, upstream, parent, source
sync, merge upstream, update
machine, deploy, runner
clone, deploy key, ssh key
updates, watch, subscribe, notifications
unread, notification, inbox
visited, visitors, views, traffic
code, source, repository
access, collaborator, permission, invite
write access, collaborator, push access
owner, transfer, ownership
ingress, route, hostname, domain
kubernetes, pod, deployment, namespace, cluster, replica, stateful, daemon, node, container
github, gitlab, gitea, bitbucket, repository, repo, branch, commit, fork, pull request, merge request, git
stripe, adyen, paypal, payment, charge, refund, invoice, checkout, payout, card
jira, ticket, worklog, jql, sprint
jira, asana, trello, linear, task, project
slack, discord, teams, channel, chat
docker, container, image, volume
twilio, telnyx, sms, phone, phone number
sendgrid, gmail, mail, email
box, dropbox, drive, folder
refund, money back, reimburse, repay, payment
payment, charge, money, collect, amount
payment intent, payment, pay, charge
setup intent, save card, future payment
customer, user, account, contact
subscription, recurring, monthly, yearly, plan, membership
payment method, card, source, bank account
product, price, catalog
balance, transaction, movement
transfer, payout, send money, wire
payout, bank, earnings
connected account, seller, merchant, account
project, repository, repo
issue, pull request
review, pull request
branch, commit, merge
file, content, blob
secret, encrypted, key
stop, cancel, delete
kill, stop, delete, terminate
workload, deployment, application, app, service
app, application, deployment, service
expose, service, ingress
image, container
pod, container, logs
node, cluster
disruption budget, maintenance, keep running, minimum available
endpoint, endpoint slice, service
debug, ephemeral
permission, role, role binding, access review
grant, binding, bind, permission, give
replica set, deployment, revision
claim, persistent volume claim, request
user, assign, assignee
story, epic, task, issue
dashboard, chart, graph
transition, workflow, status
version, server info
organization, team, group, member
team, members
channel, message
group, member, user
hook, event
"""

VERBS = """
list: list, show, display, enumerate, browse, view, see, print, index
get: get, fetch, read, retrieve, show, view, look, see, describe, display, find, load, tell, obtain, inspect, open
search: search, find, look, query, lookup, filter
create: comment, reply, remind, schedule, pin, create, add, make, new, post, insert, register, open, put, set, build, generate, file, write, start, define, store, save, issue, draft, raise, submit, upload, provision, schedule, invite, append, introduce, give, grant, publish, attach, configure
update: update, edit, modify, change, set, patch, put, replace, alter, adjust, rename, correct, switch, mark, move, assign, configure, close, increase, decrease
write: comment, reply, post, message, label, tag, pin, schedule, remind, upload, download, push, pull, tag, free, clean, sign, archive, attach, join, leave, mute, snooze, approve, accept, confirm, reject, decline, deny, merge, lock, unlock, block, unblock, ban, fork, star, follow, watch, subscribe, send, email, notify, run, execute, trigger, dispatch, start, launch, restart, rerun, retry, resume, pause, suspend, stop, cancel, abort, scale, resize, roll, deploy, evict, drain, cordon, taint, limit, restrict, forbid, protect, allow, let, permit, enable, disable, turn, close, finalize, complete, submit, transfer, hand, bring, sync, refund, charge, capture, collect, pay, void, write, restore, recover, archive, publish, report, log, vote, link, connect, attach, detach, unlink, share, import, migrate, convert, register, reserve, claim, request, ask, invite, keep, call, have, route, expose, forward, autoscale, verify, switch, assign, revert, undo, reset, rotate, combine, claim, onboard
delete: delete, remove, destroy, erase, drop, purge, clear, kill, unset, revoke, discard, take out, take away, take, end, cancel, stop, kick, leave, unfollow, unstar, unblock, get rid
"""
"""What the words of a question, or of a name, ask for. A word may ask for several things."""
