"""Other machines, or this one, that run programs and say how long these take: transports, and the requests over them.

`docs/device_protocol.md` describes the requests. What users name a device by is in `xir.device.transports`.
"""
