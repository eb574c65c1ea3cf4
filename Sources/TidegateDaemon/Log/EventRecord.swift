internal import Logging
internal import TidegateCore

/// The log record of an event; nil for events that are only counted.
struct EventRecord {
    var level: Logger.Level
    var message: String
    var fields: Logger.Metadata = [:]

    /// True for events that may be logged; others must not take their place in the subscription's buffer.
    static func isLoggable(_ event: Event) -> Bool {
        switch event.payload {
        case .task(let task):
            if case .progress = task.kind { return false }
            return true
        case .netlink(.received), .netlink(.lookedUp), .netlink(.receiveBuffer): return false
        case .path, .link, .netlink, .session, .daemon: return true
        }
    }

    init(_ level: Logger.Level, _ message: String, _ fields: Logger.Metadata = [:]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    init?(_ event: Event) {
        let record: EventRecord? =
            switch event.payload {
            case .path(let path): EventRecord(path)
            case .link(let link): EventRecord(link)
            case .netlink(let netlink): EventRecord(netlink)
            case .task(let task): EventRecord(task)
            case .session(let session): EventRecord(session)
            case .daemon(let daemon): EventRecord(daemon)
            }
        guard let record else { return nil }
        self = record
    }

    // MARK: The network

    private init(_ path: PathEvent) {
        self.init(.info, "path changed")
        switch path.scope {
        case .global: self.fields["scope"] = "global"
        case .family(let family): self.fields["scope"] = "\(family.rawValue)"
        case .target(let target): self.fields.merge(["scope": "target", "target": "\(target)"]) { _, new in new }
        }
        self.fields["from"] = "\(path.from.level.rawValue)"
        self.fields["to"] = "\(path.to.level.rawValue)"
        self.put("reason", path.to.reason?.rawValue)
        self.put("interface", path.to.path?.interface)
        self.put("gateway", path.to.path?.gateway)
        self.put("source", path.to.path?.source)
        self.put("lasted", path.lasted.map { DurationText($0) })
    }

    private init?(_ event: LinkEvent) {
        guard let link = event.to ?? event.from else { return nil }
        let message = event.from == nil ? "link added" : event.to == nil ? "link removed" : "link changed"
        self.init(.info, message, ["interface": "\(link.name)"])
        guard event.to != nil else { return }
        self.fields["admin"] = link.isAdminUp ? "up" : "down"
        self.fields["carrier"] = "\(link.hasCarrier)"
        self.fields["operstate"] = "\(link.operState.rawValue)"
        self.put("reason", link.reason?.rawValue)
    }

    private init?(_ event: NetlinkEvent) {
        switch event {
        case .received, .lookedUp, .receiveBuffer: return nil
        case .overrun: self.init(.warning, "netlink overrun, resynchronizing")
        case .resynced(let reason, let duration):
            self.init(
                .debug, "netlink dump completed",
                ["reason": "\(reason.rawValue)", "duration": "\(DurationText(duration))"])
        case .dumpInterrupted: self.init(.debug, "netlink dump interrupted, repeating")
        case .malformed(let count): self.init(.warning, "malformed netlink messages", ["count": "\(count)"])
        case .modeChanged(let mode):
            let isNormal = mode == .event || mode == .once
            self.init(isNormal ? .info : .warning, "monitor mode changed", ["mode": "\(mode.rawValue)"])
        case .lost(let text):
            self.init(.warning, "netlink unavailable; level is unknown and gates are open", ["error": "\(text)"])
        }
    }

    // MARK: The process

    private init(_ event: SessionEvent) {
        switch event {
        case .poolReplaced(let number): self.init(.info, "network epoch began", ["epoch": "\(number)"])
        case .circuitOpened(let origin, let pause):
            self.init(.warning, "circuit opened", ["origin": "\(origin)", "seconds": "\(pause.inSeconds)"])
        case .circuitClosed(let origin): self.init(.info, "circuit closed", ["origin": "\(origin)"])
        case .invalidated: self.init(.debug, "session invalidated")
        }
    }

    private init(_ event: DaemonEvent) {
        switch event {
        case .configurationLoaded(let isGood):
            self.init(
                isGood ? .info : .error, isGood ? "configuration loaded" : "configuration reload failed")
        case .requestAnswered(let handler, let status):
            self.init(.debug, "request answered", ["handler": "\(handler)", "status": "\(status)"])
        case .turnSkipped(let task):
            self.init(.info, "scheduled run skipped: the previous run is still active", ["name": "\(task)"])
        case .journal(let journal): self.init(journal)
        case .remoteWrite(let event): self.init(event)
        case .stopping: self.init(.info, "stopping")
        }
    }

    private init(_ event: JournalEvent) {
        switch event {
        case .opened(let unfinished): self.init(.info, "journal opened", ["unfinished": "\(unfinished)"])
        case .committed(let entries, let duration):
            self.init(.debug, "journal written", ["entries": "\(entries)", "seconds": "\(duration.inSeconds)"])
        case .failed(let issue, let entries):
            self.init(.error, "journal write failed", ["reason": "\(issue.label)", "entries": "\(entries)"])
        }
    }

    mutating func put(_ name: String, _ value: (some CustomStringConvertible)?) {
        if let value { self.fields[name] = "\(value)" }
    }
}
