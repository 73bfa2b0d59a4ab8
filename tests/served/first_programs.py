"""Thirty-six tasks on ten real documents, each with the first program of an agent that had read only what the tools say
of the functions, before it was known whether it works.

`answers` is what the API has, by request; a part of an answer is enough, the rest is made up by its schema. `sent` are
all writes that must reach the API, in order, with what must be in their bodies; `result` is the right answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

AC, CA = "AC" + "1" * 32, "CA" + "2" * 32
OCTO = "/github/repos/octo/cat"


@dataclass(frozen=True)
class Task:
    asked: str
    program: str
    result: Any
    answers: dict[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, Any]] = field(default_factory=list)


TASKS = [
    # github
    Task(
        "Number and title of the open issues of octo/cat with the label bug.",
        """
from github import issues_list_for_repo
result = [(i["number"], i["title"]) for i in issues_list_for_repo(owner="octo", repo="cat", labels="bug", state="open")]
""",
        [[7, "It barks"], [9, "No purr"]],
        {
            f"GET {OCTO}/issues?labels=bug&state=open": [
                {"number": 7, "title": "It barks"},
                {"number": 9, "title": "No purr"},
            ]
        },
    ),
    Task(
        "Open the issue 'Login fails' with the label bug in octo/cat, and give me its number.",
        """
from github import issues_create
issue = issues_create(owner="octo", repo="cat", title="Login fails", body="The login fails.", labels=["bug"])
result = issue["number"]
""",
        12,
        {f"POST {OCTO}/issues": {"number": 12}},
        [(f"POST {OCTO}/issues", {"title": "Login fails", "labels": ["bug"]})],
    ),
    Task(
        "Close all open issues of octo/cat that are called 'stale', on whatever page.",
        """
import doorward
from github import issues_list_for_repo, issues_update
closed = []
for issue in doorward.items(issues_list_for_repo, owner="octo", repo="cat", state="open", per_page=100):
    if issue["title"] == "stale":
        issues_update(owner="octo", repo="cat", issue_number=issue["number"], state="closed")
        closed.append(issue["number"])
result = closed
""",
        [3, 205],
        {
            f"GET {OCTO}/issues?per_page=100&state=open": [{"number": 3, "title": "stale"}]
            + [{"number": n, "title": "other"} for n in range(100, 199)],
            f"GET {OCTO}/issues?page=2&per_page=100&state=open": [{"number": 205, "title": "stale"}],
            f"PATCH {OCTO}/issues/3": {"state": "closed"},
            f"PATCH {OCTO}/issues/205": {"state": "closed"},
        },
        [(f"PATCH {OCTO}/issues/3", {"state": "closed"}), (f"PATCH {OCTO}/issues/205", {"state": "closed"})],
    ),
    Task(
        "How many open pull requests has each author in octo/cat?",
        """
import doorward
from collections import Counter
from github import pulls_list
result = dict(Counter(p["user"]["login"] for p in doorward.items(pulls_list, owner="octo", repo="cat", per_page=100)))
""",
        {"ann": 2, "bob": 1},
        {f"GET {OCTO}/pulls?per_page=100": [{"user": {"login": name}} for name in ("ann", "bob", "ann")]},
    ),
    Task(
        "The three repositories of the organisation octo with the most stars.",
        """
import doorward
from github import repos_list_for_org
repos = list(doorward.items(repos_list_for_org, org="octo", per_page=100))
repos.sort(key=lambda r: r["stargazers_count"], reverse=True)
result = [r["name"] for r in repos[:3]]
""",
        ["d", "b", "c"],
        {
            "GET /github/orgs/octo/repos?per_page=100": [
                {"name": name, "stargazers_count": stars} for name, stars in (("a", 1), ("b", 8), ("c", 5), ("d", 9))
            ]
        },
    ),
    # stripe
    Task(
        "Create the customer Ann, ann@example.com, with the metadata plan=gold; I need the id.",
        """
from stripe import post_customers
customer = post_customers(name="Ann", email="ann@example.com", metadata={"plan": "gold"})
result = customer["id"]
""",
        "cus_1",
        {"POST /stripe/v1/customers": {"id": "cus_1"}},
        [("POST /stripe/v1/customers", {"name": ["Ann"], "email": ["ann@example.com"], "metadata[plan]": ["gold"]})],
    ),
    Task(
        "The emails of all customers.",
        """
import doorward
from stripe import get_customers
result = [c["email"] for c in doorward.items(get_customers, limit=100)]
""",
        ["a@example.com", "b@example.com"],
        {
            "GET /stripe/v1/customers?limit=100": {
                "data": [{"id": "cus_1", "email": "a@example.com"}],
                "has_more": True,
                "object": "list",
            },
            "GET /stripe/v1/customers?limit=100&starting_after=cus_1": {
                "data": [{"id": "cus_2", "email": "b@example.com"}],
                "has_more": False,
                "object": "list",
            },
        },
    ),
    Task(
        "Refund 5.00 of the charge ch_1 because the customer asked for it.",
        """
from stripe import post_refunds
refund = post_refunds(charge="ch_1", amount=500, reason="requested_by_customer")
result = {"id": refund["id"], "status": refund["status"]}
""",
        {"id": "re_1", "status": "succeeded"},
        {"POST /stripe/v1/refunds": {"id": "re_1", "status": "succeeded"}},
        [("POST /stripe/v1/refunds", {"charge": ["ch_1"], "amount": ["500"], "reason": ["requested_by_customer"]})],
    ),
    Task(
        "Create the product Tea with a price of 12.50 EUR a month.",
        """
from stripe import post_products, post_prices
product = post_products(name="Tea")
price = post_prices(currency="eur", product=product["id"], unit_amount=1250, recurring={"interval": "month"})
result = [product["id"], price["id"]]
""",
        ["prod_1", "price_1"],
        {"POST /stripe/v1/products": {"id": "prod_1"}, "POST /stripe/v1/prices": {"id": "price_1"}},
        [
            ("POST /stripe/v1/products", {"name": ["Tea"]}),
            (
                "POST /stripe/v1/prices",
                {"product": ["prod_1"], "unit_amount": ["1250"], "recurring[interval]": ["month"]},
            ),
        ],
    ),
    # docker
    Task(
        "Names and images of the running containers.",
        """
from docker import container_list
result = {c["Names"][0].lstrip("/"): c["Image"] for c in container_list()}
""",
        {"web": "nginx", "db": "postgres"},
        {
            "GET /docker/containers/json": [
                {"Names": ["/web"], "Image": "nginx"},
                {"Names": ["/db"], "Image": "postgres"},
            ]
        },
    ),
    Task(
        "Start a container web2 of nginx with MODE=test, its port 80 on 8080 of the host.",
        """
from docker import container_create, container_start
made = container_create(
    name="web2", Image="nginx", Env=["MODE=test"], ExposedPorts={"80/tcp": {}},
    HostConfig={"PortBindings": {"80/tcp": [{"HostPort": "8080"}]}},
)
container_start(id=made["Id"])
result = made["Id"]
""",
        "c0ffee",
        {
            "POST /docker/containers/create?name=web2": {"Id": "c0ffee", "Warnings": []},
            "POST /docker/containers/c0ffee/start": None,
        },
        [
            (
                "POST /docker/containers/create?name=web2",
                {
                    "Image": "nginx",
                    "Env": ["MODE=test"],
                    "HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "8080"}]}},
                },
            ),
            ("POST /docker/containers/c0ffee/start", {}),
        ],
    ),
    Task(
        "The lines of the last 20 of the log of web that contain ERROR.",
        """
import doorward
from docker import container_logs
log = container_logs(id="web", stdout=True, stderr=True, tail="20")
text = doorward.read(log)
if isinstance(text, bytes):
    text = text.decode("utf-8", "replace")
result = [line for line in text.splitlines() if "ERROR" in line]
""",
        ["ERROR no disk"],
        {"GET /docker/containers/web/logs?stderr=true&stdout=true&tail=20": b"all well\nERROR no disk\nfine\n"},
    ),
    Task(
        "Remove all containers that have exited.",
        """
import json
from docker import container_list, container_delete
gone = []
for c in container_list(all=True, filters=json.dumps({"status": ["exited"]})):
    container_delete(id=c["Id"])
    gone.append(c["Id"])
result = gone
""",
        ["a1", "b2"],
        {
            'GET /docker/containers/json?all=true&filters={"status": ["exited"]}': [
                {"Id": "a1", "State": "exited"},
                {"Id": "b2", "State": "exited"},
            ],
            "DELETE /docker/containers/a1": None,
            "DELETE /docker/containers/b2": None,
        },
        [("DELETE /docker/containers/a1", {}), ("DELETE /docker/containers/b2", {})],
    ),
    # gitea
    Task(
        "Create the private repository notes of the organisation acme with a readme.",
        """
from gitea import create_org_repo
repo = create_org_repo(org="acme", name="notes", private=True, auto_init=True)
result = repo["full_name"]
""",
        "acme/notes",
        {"POST /gitea/orgs/acme/repos": {"full_name": "acme/notes"}},
        [("POST /gitea/orgs/acme/repos", {"name": "notes", "private": True, "auto_init": True})],
    ),
    Task(
        "The first line of docs/README.md of acme/notes.",
        """
import base64
from gitea import repo_get_contents
file = repo_get_contents(owner="acme", repo="notes", filepath="docs/README.md")
result = base64.b64decode(file["content"]).decode().splitlines()[0]
""",
        "# Notes",
        {
            "GET /gitea/repos/acme/notes/contents/docs/README.md": {
                "content": "IyBOb3RlcwoKTW9yZS4K",
                "encoding": "base64",
            }
        },
    ),
    Task(
        "Put the label urgent on the issue 4 of acme/notes.",
        """
from gitea import issue_list_labels, issue_add_label
label = next(l for l in issue_list_labels(owner="acme", repo="notes") if l["name"] == "urgent")
result = [l["name"] for l in issue_add_label(owner="acme", repo="notes", index=4, labels=[label["id"]])]
""",
        ["bug", "urgent"],
        {
            "GET /gitea/repos/acme/notes/labels": [{"id": 3, "name": "bug"}, {"id": 5, "name": "urgent"}],
            "POST /gitea/repos/acme/notes/issues/4/labels": [{"name": "bug"}, {"name": "urgent"}],
        },
        [("POST /gitea/repos/acme/notes/issues/4/labels", {"labels": [5]})],
    ),
    Task(
        "Open an issue for each of these lines in acme/notes: Buy milk, Call Bob. It is due on 2026-12-24.",
        """
import asyncio
from gitea import issue_create_issue
titles = ["Buy milk", "Call Bob"]
made = [issue_create_issue(owner="acme", repo="notes", title=t, due_date="2026-12-24T00:00:00Z") for t in titles]
result = [m["number"] for m in made]
""",
        [1, 1],
        {"POST /gitea/repos/acme/notes/issues": {"number": 1}},
        [
            ("POST /gitea/repos/acme/notes/issues", {"title": "Buy milk", "due_date": "2026-12-24T00:00:00Z"}),
            ("POST /gitea/repos/acme/notes/issues", {"title": "Call Bob", "due_date": "2026-12-24T00:00:00Z"}),
        ],
    ),
    # powerdns
    Task(
        "Add www.example.org with the address 192.0.2.7 to the zone example.org.",
        """
from powerdns import list_servers, patch_zone
server = list_servers()[0]["id"]
patch_zone(server_id=server, zone_id="example.org.", rrsets=[{
    "name": "www.example.org.", "type": "A", "ttl": 3600, "changetype": "REPLACE",
    "records": [{"content": "192.0.2.7", "disabled": False}],
}])
result = "done"
""",
        "done",
        {"GET /powerdns/servers": [{"id": "localhost"}], "PATCH /powerdns/servers/localhost/zones/example.org.": None},
        [
            (
                "PATCH /powerdns/servers/localhost/zones/example.org.",
                {
                    "rrsets": [
                        {
                            "name": "www.example.org.",
                            "type": "A",
                            "ttl": 3600,
                            "changetype": "REPLACE",
                            "records": [{"content": "192.0.2.7", "disabled": False}],
                        }
                    ]
                },
            )
        ],
    ),
    Task(
        "The names of all zones of every server, and which are signed.",
        """
from powerdns import list_servers, list_zones
result = {z["name"]: z["dnssec"] for s in list_servers() for z in list_zones(server_id=s["id"])}
""",
        {"example.org.": True, "example.net.": False},
        {
            "GET /powerdns/servers": [{"id": "localhost"}],
            "GET /powerdns/servers/localhost/zones": [
                {"name": "example.org.", "dnssec": True},
                {"name": "example.net.", "dnssec": False},
            ],
        },
    ),
    Task(
        "How many records has the export of the zone example.org.?",
        """
from powerdns import axfr_export_zone
text = axfr_export_zone(server_id="localhost", zone_id="example.org.")
result = len([line for line in text.splitlines() if line.strip()])
""",
        2,
        {"GET /powerdns/servers/localhost/zones/example.org./export": "example.org.\tSOA\tx\nwww.example.org.\tA\ty\n"},
    ),
    # qdrant
    Task(
        "Create the collection docs for vectors of 4 numbers, compared by cosine.",
        """
from qdrant import create_collection
answer = create_collection(collection_name="docs", vectors={"size": 4, "distance": "Cosine"})
result = answer["result"]
""",
        True,
        {"PUT /qdrant/collections/docs": {"result": True}},
        [("PUT /qdrant/collections/docs", {"vectors": {"size": 4, "distance": "Cosine"}})],
    ),
    Task(
        "Store two points in docs: 1 with [1,0,0,0] from Oslo, 2 with [0,1,0,0] from Rome; wait for it.",
        """
from qdrant import upsert_points
answer = upsert_points(collection_name="docs", wait=True, body={"points": [
    {"id": 1, "vector": [1, 0, 0, 0], "payload": {"city": "Oslo"}},
    {"id": 2, "vector": [0, 1, 0, 0], "payload": {"city": "Rome"}},
]})
result = answer["result"]["status"]
""",
        "completed",
        {"PUT /qdrant/collections/docs/points?wait=true": {"result": {"status": "completed", "operation_id": 1}}},
        [
            (
                "PUT /qdrant/collections/docs/points?wait=true",
                {
                    "points": [
                        {"id": 1, "vector": [1, 0, 0, 0], "payload": {"city": "Oslo"}},
                        {"id": 2, "vector": [0, 1, 0, 0], "payload": {"city": "Rome"}},
                    ]
                },
            )
        ],
    ),
    Task(
        "The ids of the two points of docs from Oslo that are nearest to [0.9, 0.1, 0, 0].",
        """
from qdrant import query_points
answer = query_points(
    collection_name="docs", query=[0.9, 0.1, 0, 0], limit=2,
    filter={"must": [{"key": "city", "match": {"value": "Oslo"}}]},
)
result = [p["id"] for p in answer["result"]["points"]]
""",
        [1, 4],
        {
            "POST /qdrant/collections/docs/points/query": {
                "result": {"points": [{"id": 1, "score": 0.9}, {"id": 4, "score": 0.5}]}
            }
        },
        [
            (
                "POST /qdrant/collections/docs/points/query",
                {
                    "query": [0.9, 0.1, 0, 0],
                    "limit": 2,
                    "filter": {"must": [{"key": "city", "match": {"value": "Oslo"}}]},
                },
            )
        ],
    ),
    Task(
        "Delete the points 1 and 2 of docs, and count what is left.",
        """
from qdrant import delete_points, count_points
delete_points(collection_name="docs", wait=True, body={"points": [1, 2]})
result = count_points(collection_name="docs", exact=True)["result"]["count"]
""",
        3,
        {
            "POST /qdrant/collections/docs/points/delete?wait=true": {
                "result": {"status": "completed", "operation_id": 2}
            },
            "POST /qdrant/collections/docs/points/count": {"result": {"count": 3}},
        },
        [
            ("POST /qdrant/collections/docs/points/delete?wait=true", {"points": [1, 2]}),
            ("POST /qdrant/collections/docs/points/count", {"exact": True}),
        ],
    ),
    # asana
    Task(
        "Create the task 'Write report' in the project 99, due on 2026-12-01.",
        """
from asana import create_task
task = create_task(data={"name": "Write report", "projects": ["99"], "due_on": "2026-12-01"})
result = task["data"]["gid"]
""",
        "555",
        {"POST /asana/tasks": {"data": {"gid": "555"}}},
        [("POST /asana/tasks", {"data": {"name": "Write report", "projects": ["99"], "due_on": "2026-12-01"}})],
    ),
    Task(
        "The names of all tasks of the project 99 that are not completed.",
        """
import doorward
from asana import get_tasks_for_project
result = [t["name"] for t in doorward.items(get_tasks_for_project, project_gid="99", completed_since="now", limit=100)]
""",
        ["one", "two"],
        {
            "GET /asana/projects/99/tasks?completed_since=now&limit=100": {
                "data": [{"gid": "1", "name": "one"}],
                "next_page": {"offset": "o2", "path": "/asana/projects/99/tasks?limit=100&offset=o2"},
            },
            "GET /asana/projects/99/tasks?completed_since=now&limit=100&offset=o2": {
                "data": [{"gid": "2", "name": "two"}],
                "next_page": None,
            },
        },
    ),
    Task(
        "Complete the task 321 and write the comment 'Done by me' on it.",
        """
from asana import update_task, create_story_for_task
update_task(task_gid="321", data={"completed": True})
story = create_story_for_task(task_gid="321", data={"text": "Done by me"})
result = story["data"]["gid"]
""",
        "777",
        {
            "PUT /asana/tasks/321": {"data": {"gid": "321", "completed": True}},
            "POST /asana/tasks/321/stories": {"data": {"gid": "777"}},
        },
        [
            ("PUT /asana/tasks/321", {"data": {"completed": True}}),
            ("POST /asana/tasks/321/stories", {"data": {"text": "Done by me"}}),
        ],
    ),
    # discourse
    Task(
        "Write the topic 'Meeting on Friday' with the text 'We meet at ten.' in the category 5; I need its address.",
        """
from discourse import create_topic_post_pm
post = create_topic_post_pm(title="Meeting on Friday", raw="We meet at ten.", category=5)
result = f"/t/{post['topic_slug']}/{post['topic_id']}"
""",
        "/t/meeting/8",
        {"POST /discourse/posts.json": {"topic_id": 8, "topic_slug": "meeting"}},
        [("POST /discourse/posts.json", {"title": "Meeting on Friday", "raw": "We meet at ten.", "category": 5})],
    ),
    Task(
        "The titles of the latest topics, most viewed first.",
        """
from discourse import list_latest_topics
topics = list_latest_topics()["topic_list"]["topics"]
topics.sort(key=lambda t: t["views"], reverse=True)
result = [t["title"] for t in topics]
""",
        ["Rome", "Oslo"],
        {
            "GET /discourse/latest.json": {
                "topic_list": {"topics": [{"title": "Oslo", "views": 3}, {"title": "Rome", "views": 9}]}
            }
        },
    ),
    Task(
        "The email address of the user ann.",
        """
from discourse import get_user_emails
result = get_user_emails(username="ann")["email"]
""",
        "ann@example.com",
        {"GET /discourse/u/ann/emails.json": {"email": "ann@example.com"}},
    ),
    # twilio
    Task(
        "Send 'Hello' by SMS from +15550001 to +15550002 with the first account that there is.",
        """
from twilio import list_account, create_message
account = list_account()["accounts"][0]["sid"]
message = create_message(AccountSid=account, From="+15550001", To="+15550002", Body="Hello")
result = message["sid"]
""",
        "SM" + "3" * 32,
        {
            "GET /twilio/2010-04-01/Accounts.json": {"accounts": [{"sid": AC}]},
            f"POST /twilio/2010-04-01/Accounts/{AC}/Messages.json": {"sid": "SM" + "3" * 32},
        },
        [
            (
                f"POST /twilio/2010-04-01/Accounts/{AC}/Messages.json",
                {"From": ["+15550001"], "To": ["+15550002"], "Body": ["Hello"]},
            )
        ],
    ),
    Task(
        "All messages to +15550002, oldest last: who sent them and what they say.",
        f"""
import doorward
from twilio import list_message
found = doorward.items(list_message, AccountSid="{AC}", To="+15550002", PageSize=50)
result = [(m["from"], m["body"]) for m in found]
""",
        [["+15550001", "Hi"], ["+15550003", "Ho"]],
        {
            f"GET /twilio/2010-04-01/Accounts/{AC}/Messages.json?PageSize=50&To=+15550002": {
                "messages": [{"from": "+15550001", "body": "Hi"}],
                "next_page_uri": f"/twilio/2010-04-01/Accounts/{AC}/Messages.json?To=%2B15550002&PageSize=50&Page=1&PageToken=p1",
            },
            f"GET /twilio/2010-04-01/Accounts/{AC}/Messages.json?Page=1&PageSize=50&PageToken=p1&To=+15550002": {
                "messages": [{"from": "+15550003", "body": "Ho"}],
                "next_page_uri": None,
            },
        },
    ),
    Task(
        f"How many seconds did the call {CA} take?",
        f"""
from twilio import fetch_call
result = int(fetch_call(AccountSid="{AC}", Sid="{CA}")["duration"])
""",
        61,
        {f"GET /twilio/2010-04-01/Accounts/{AC}/Calls/{CA}.json": {"sid": CA, "duration": "61", "status": "completed"}},
    ),
    # harbor
    Task(
        "Which projects have more than ten repositories?",
        """
import doorward
from harbor import list_projects
result = [p["name"] for p in doorward.items(list_projects, page_size=100) if p["repo_count"] > 10]
""",
        ["library"],
        {
            "GET /harbor/projects?page_size=100": [
                {"name": "library", "repo_count": 11},
                {"name": "small", "repo_count": 1},
            ]
        },
    ),
    Task(
        "Create the private project team-a with a quota of 1 GiB.",
        """
from harbor import create_project
create_project(project_name="team-a", metadata={"public": "false"}, storage_limit=1024**3)
result = "created"
""",
        "created",
        {"POST /harbor/projects": None},
        [
            (
                "POST /harbor/projects",
                {"project_name": "team-a", "metadata": {"public": "false"}, "storage_limit": 2**30},
            )
        ],
    ),
    Task(
        "Scan every untagged artifact of the repository app/web of the project team-a.",
        """
import doorward
from urllib.parse import quote
from harbor import list_artifacts, scan_artifact
repository = quote(quote("app/web", safe=""), safe="")
scanned = []
for a in doorward.items(list_artifacts, project_name="team-a", repository_name=repository, q="tags=nil", page_size=100):
    scan_artifact(project_name="team-a", repository_name=repository, reference=a["digest"])
    scanned.append(a["digest"])
result = scanned
""",
        ["sha256:aa"],
        {
            "GET /harbor/projects/team-a/repositories/app%252Fweb/artifacts?page_size=100&q=tags=nil": [
                {"digest": "sha256:aa"}
            ],
            "POST /harbor/projects/team-a/repositories/app%252Fweb/artifacts/sha256:aa/scan": None,
        },
        [("POST /harbor/projects/team-a/repositories/app%252Fweb/artifacts/sha256:aa/scan", {})],
    ),
]
