"""An oracle on the network: analysts with keys ask, one account adds up.

Needs the extra ``service``. ``tacit serve`` runs it; ``create_app`` makes the
application for a server of your own.
"""
