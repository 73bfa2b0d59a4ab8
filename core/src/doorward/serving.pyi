# `make reference` writes this file.
from doorward.access.slots import may_take as may_take
from doorward.calls.artefacts import kind_of as kind_of
from doorward.config.settings import can_come_in as can_come_in
from doorward.data.cursors import page as page
from doorward.data.quoting import told as told
from doorward.host.logs import seldom as seldom
from doorward.host.loopback import IN_URLS as IN_URLS
from doorward.host.processes import Process as Process
from doorward.model.principals import endpoint_of as endpoint_of
from doorward.model.principals import person_of as person_of
from doorward.plugins.mcp_additions import PRINCIPAL as PRINCIPAL
from doorward.plugins.mcp_additions import RawPage as RawPage
from doorward.plugins.mcp_additions import RawPrompt as RawPrompt
from doorward.plugins.mcp_additions import RawResource as RawResource
from doorward.plugins.mcp_additions import RawSite as RawSite
from doorward.plugins.mcp_additions import RawTool as RawTool
from doorward.plugins.mcp_additions import VERIFY_TOKEN as VERIFY_TOKEN
from doorward.plugins.mcp_additions import principal_of as principal_of

__all__ = [
    "IN_URLS",
    "PRINCIPAL",
    "Process",
    "RawPage",
    "RawPrompt",
    "RawResource",
    "RawSite",
    "RawTool",
    "VERIFY_TOKEN",
    "can_come_in",
    "endpoint_of",
    "kind_of",
    "may_take",
    "page",
    "person_of",
    "principal_of",
    "seldom",
    "told",
]
