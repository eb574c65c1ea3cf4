extension PathEvent {
    var projection: EventProjection {
        var (name, family, target): (String, AddressFamily?, Target?) = ("global", nil, nil)
        switch self.scope {
        case .global: break
        case .family(let which): (name, family) = ("family", which)
        case .target(let which): (name, target) = ("target", which)
        }
        let now = self.to
        return EventProjection(
            "path.changed", .info, "path changed",
            [
                .json("scope", name), .log("scope", family?.rawValue ?? name), .json("family", family?.rawValue),
                .both("target", target?.description), .json("from", self.from.changeJSON),
                .log("from", self.from.level.rawValue), .json("to", now.changeJSON), .log("to", now.level.rawValue),
                .log("reason", .word(now.reason)), .log("interface", now.path?.interface),
                .log("gateway", now.path?.gateway?.description), .log("source", now.path?.source?.description),
                .log("lasted", self.lasted),
            ])
    }
}

extension TargetCheckEvent {
    var projection: EventProjection {
        EventProjection(
            "path.targetChecked", self.isNews ? .debug : .trace,
            self.failure == nil ? "target reached" : "target not reached",
            [
                .both("target", self.target.description), .both("check", self.kind.rawValue),
                .both("reached", self.failure == nil), .both("reason", .word(self.failure?.reason)),
                .both("party", .word(self.failure?.party)), .both("text", self.failure?.text),
                .both("connectSeconds", self.phases.connect, log: "connect"),
                .both("tlsSeconds", self.phases.tls, log: "tls"),
                .both("responseSeconds", self.phases.processing, log: "response"),
                .both("certificateExpiry", self.certificateExpiry?.description, log: "certificate_expiry"),
            ])
    }
}

extension LinkEvent {
    var projection: EventProjection {
        let link = self.to ?? self.from
        let message = self.from == nil ? "link added" : self.to == nil ? "link removed" : "link changed"
        var fields: [EventProjection.Field] = [
            .both("name", link?.name, log: "interface"), .json("index", link?.index),
            .json("from", self.from?.changeJSON ?? .null), .json("to", self.to?.changeJSON ?? .null),
        ]
        if let now = self.to {
            fields += [
                .log("admin", now.isAdminUp ? "up" : "down"), .log("carrier", now.hasCarrier),
                .log("operstate", now.operState.rawValue),
                .log("reason", .word(now.reason?.rawValue, now.reason?.description(ofLink: now.name))),
            ]
        }
        return EventProjection("link.changed", .info, message, fields)
    }
}

extension Link {
    fileprivate var changeJSON: JSONValue {
        [
            "admin": .string(self.isAdminUp ? "up" : "down"), "carrier": .bool(self.hasCarrier),
            "operstate": .string(self.operState.rawValue), "usable": .bool(self.isUsable),
            "reason": .optional(self.reason?.rawValue),
        ]
    }
}

extension NetlinkEvent {
    var projection: EventProjection {
        switch self {
        case .received(let type, let count):
            EventProjection(
                "netlink.received", .trace, "netlink messages", [.both("type", type.rawValue), .both("count", count)])
        case .overrun:
            EventProjection("netlink.overrun", .warning, "netlink overrun, resynchronizing")
        case .resynced(let reason, let duration):
            EventProjection(
                "netlink.resynced", .debug, "netlink dump completed",
                [.both("reason", reason.rawValue), .both("durationSeconds", duration, log: "duration")])
        case .dumpInterrupted:
            EventProjection("netlink.dumpInterrupted", .debug, "netlink dump interrupted, repeating")
        case .malformed(let count):
            EventProjection("netlink.malformed", .warning, "malformed netlink messages", [.both("count", count)])
        case .lookedUp(let count):
            EventProjection("netlink.lookedUp", .trace, "route lookups", [.both("count", count)])
        case .modeChanged(let mode):
            EventProjection(
                "netlink.modeChanged", mode == .event || mode == .once ? .info : .warning, "monitor mode changed",
                [.both("mode", mode.rawValue)])
        case .receiveBuffer(let bytes):
            EventProjection("netlink.receiveBuffer", .trace, "netlink receive buffer", [.both("bytes", bytes)])
        case .lost(let text):
            EventProjection(
                "netlink.lost", .warning, "netlink unavailable; level is unknown and gates are open",
                [.both("error", text)])
        }
    }
}
