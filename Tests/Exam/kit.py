"""Everything that a file of scenarios needs."""
from faults import *  # noqa: F403
from networks import *  # noqa: F403
from programs import advertiser, forger, forwarder, name_server, proxy, steady  # noqa: F401
from questions import *  # noqa: F403
