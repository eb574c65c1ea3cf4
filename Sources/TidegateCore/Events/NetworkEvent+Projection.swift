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
                .json("scope", .text(name)), .log("scope", .text(family?.rawValue ?? name)),
                .json("family", .text(family?.rawValue)), .both("target", .text(target?.description)),
                .json("from", .json(self.from.changeJSON)), .log("from", .text(self.from.level.rawValue)),
                .json("to", .json(now.changeJSON)), .log("to", .text(now.level.rawValue)),
                .log("reason", .word(now.reason?.rawValue, now.reason?.description)),
                .log("interface", .text(now.path?.interface)),
                .log("gateway", .text(now.path?.gateway?.description)),
                .log("source", .text(now.path?.source?.description)), .log("lasted", .duration(self.lasted)),
            ])
    }
}

extension TargetCheckEvent {
    var projection: EventProjection {
        EventProjection(
            "path.targetChecked", self.isNews ? .debug : .trace,
            self.failure == nil ? "target reached" : "target not reached",
            [
                .both("target", .text(self.target.description)), .both("check", .text(self.kind.rawValue)),
                .both("reached", .flag(self.failure == nil)),
                .both("reason", .word(self.failure?.reason.rawValue, self.failure?.reason.description)),
                .both("party", .word(self.failure?.party.rawValue, self.failure?.party.description)),
                .both("text", .text(self.failure?.text)),
                .both("connectSeconds", .duration(self.phases.connect), log: "connect"),
                .both("tlsSeconds", .duration(self.phases.tls), log: "tls"),
                .both("responseSeconds", .duration(self.phases.processing), log: "response"),
                .both("certificateExpiry", .text(self.certificateExpiry?.description), log: "certificate_expiry"),
            ])
    }
}

extension LinkEvent {
    var projection: EventProjection {
        let link = self.to ?? self.from
        let message = self.from == nil ? "link added" : self.to == nil ? "link removed" : "link changed"
        let fields: [EventProjection.Field] = [
            .both("name", .text(link?.name), log: "interface"),
            .json("index", .integer(link.map { Int64($0.index) })),
            .json("from", .json(self.from?.changeJSON ?? .null)),
            .json("to", .json(self.to?.changeJSON ?? .null)),
        ]
        guard let now = self.to else { return EventProjection("link.changed", .info, message, fields) }
        let state: [EventProjection.Field] = [
            .log("admin", .text(now.isAdminUp ? "up" : "down")), .log("carrier", .flag(now.hasCarrier)),
            .log("operstate", .text(now.operState.rawValue)),
            .log("reason", .word(now.reason?.rawValue, now.reason?.description(ofLink: now.name))),
        ]
        return EventProjection("link.changed", .info, message, fields + state)
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
                "netlink.received", .trace, "netlink messages",
                [.both("type", .text(type.rawValue)), .both("count", .integer(Int64(count)))])
        case .overrun:
            EventProjection("netlink.overrun", .warning, "netlink overrun, resynchronizing")
        case .resynced(let reason, let duration):
            EventProjection(
                "netlink.resynced", .debug, "netlink dump completed",
                [
                    .both("reason", .text(reason.rawValue)),
                    .both("durationSeconds", .duration(duration), log: "duration"),
                ])
        case .dumpInterrupted:
            EventProjection("netlink.dumpInterrupted", .debug, "netlink dump interrupted, repeating")
        case .malformed(let count):
            EventProjection(
                "netlink.malformed", .warning, "malformed netlink messages", [.both("count", .integer(Int64(count)))])
        case .lookedUp(let count):
            EventProjection("netlink.lookedUp", .trace, "route lookups", [.both("count", .integer(Int64(count)))])
        case .modeChanged(let mode):
            EventProjection(
                "netlink.modeChanged", mode == .event || mode == .once ? .info : .warning, "monitor mode changed",
                [.both("mode", .text(mode.rawValue))])
        case .receiveBuffer(let bytes):
            EventProjection(
                "netlink.receiveBuffer", .trace, "netlink receive buffer", [.both("bytes", .integer(Int64(bytes)))])
        case .lost(let text):
            EventProjection(
                "netlink.lost", .warning, "netlink unavailable; level is unknown and gates are open",
                [.both("error", .text(text))])
        }
    }
}
