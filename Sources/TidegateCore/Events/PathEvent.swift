/// A change of a verdict, or of the path at the same level.
public struct PathEvent: Sendable {
    /// What the verdict is about.
    public enum Scope: Sendable, Hashable {
        /// The better of the families.
        case global
        /// One family's sentinels.
        case family(AddressFamily)
        /// One target.
        case target(Target)
    }

    /// What the verdict is about.
    public var scope: Scope
    /// The verdict before.
    public var from: Verdict
    /// The verdict now.
    public var to: Verdict
    /// How long ``from``'s level had lasted; nil for the first verdict.
    public var lasted: Duration?
    /// From reading the kernel's message to the verdict; nil if no message led to it.
    public var detection: Duration?

    /// A change from its parts.
    package init(scope: Scope, from: Verdict, to: Verdict, lasted: Duration? = nil, detection: Duration? = nil) {
        (self.scope, self.from, self.to, self.lasted) = (scope, from, to, lasted)
        self.detection = detection
    }

    var projection: EventProjection {
        var (name, family, target): (String, AddressFamily?, Target?) = ("global", nil, nil)
        switch self.scope {
        case .global: break
        case .family(let which): (name, family) = ("family", which)
        case .target(let which): (name, target) = ("target", which)
        }
        let now = self.to
        return EventProjection(
            "path.changed", .info, "path changed", self.sentence(),
            [
                .json("scope", name), .log("scope", family?.rawValue ?? name), .json("family", family?.rawValue),
                .both("target", target?.description), .json("from", self.from.changeJSON),
                .log("from", self.from.level.rawValue), .json("to", now.changeJSON), .log("to", now.level.rawValue),
                .log("reason", .word(now.reason)), .log("interface", now.path?.interface),
                .log("gateway", now.path?.gateway?.description), .log("source", now.path?.source?.description),
                .log("lasted", self.lasted),
            ])
    }

    // The first verdicts of families and targets follow from the start, not from a change.
    var relevance: Event.Relevance { self.from.level == .unknown && self.scope != .global ? .history : .page }

    /// What has changed, in one clause; `name` is what a target is called.
    package func sentence(naming name: String? = nil) -> String {
        let (level, reason) = (self.to.level, self.to.reason.map { ": \($0)" } ?? "")
        let subject =
            switch self.scope {
            case .global: ""
            case .family(let family): family.name
            case .target(let target): name ?? target.description
            }
        guard level >= .routed || reason.isEmpty else { return (subject.isEmpty ? level.headline : subject) + reason }
        let start = subject.isEmpty ? level.headline : "\(subject) \(level.word)"
        return start + (self.to.path.map { " \($0.through)" } ?? "") + reason
    }
}

extension HostDiagnosis {
    var projection: EventProjection {
        let explanation = self.isBroken ? self.explanation : nil
        let level: Event.Level = self.state == .checking ? .debug : self.isBroken ? .warning : .info
        return EventProjection(
            "path.diagnosed", level, self.state == .checking ? "checking a silence" : "network diagnosed",
            self.sentence,
            [
                .both("state", self.state.rawValue), .both("party", .word(explanation?.party)),
                .both("cause", explanation?.cause?.code), .both("text", self.sentence),
                .both("advice", explanation?.advice), .both("since", self.since?.description),
            ])
    }
}

/// The state of an uplink that is not used changed, or it appeared broken.
public struct UplinkEvent: Sendable, Hashable {
    /// The uplink with its new state.
    public let uplink: Uplink
    /// Its state before; nil if it was not known.
    public let before: Uplink.State?
    /// True if its route is gone.
    package let isGone: Bool

    /// An event from its parts.
    package init(_ uplink: Uplink, before: Uplink.State?, isGone: Bool = false) {
        (self.uplink, self.before, self.isGone) = (uplink, before, isGone)
    }

    /// True if packets that take it are lost from now on.
    package var isTrouble: Bool { self.uplink.isBroken && !self.isGone }

    var projection: EventProjection {
        let (uplink, isBroken) = (self.uplink, self.isTrouble)
        let state = uplink.state == .works ? "works again" : "is \(uplink.shortSentence)"
        let part = uplink.role == .member ? "some connections fail: " : ""
        let text =
            self.isGone
            ? "\(uplink.interface) is not watched as a way out any more"
            : isBroken
                ? part + uplink.trouble
                : "the way out by \(uplink.interface) \(uplink.role == .used ? "is used now" : state)"
        return EventProjection(
            "path.uplinkChanged", isBroken ? .warning : .info, isBroken ? "way out failed" : "way out changed", text,
            [
                .both("interface", uplink.interface), .both("gateway", uplink.gateway?.description),
                .both("role", uplink.role.rawValue), .both("state", self.isGone ? nil : uplink.state.rawValue),
                .both("from", self.before?.rawValue), .both("party", .word(isBroken ? uplink.party : nil)),
                .both("text", text), .both("advice", isBroken ? uplink.advice : nil),
            ])
    }
}

/// A change of a link's admin state, carrier, operstate, usability or reason; or its coming or going.
public struct LinkEvent: Sendable {
    /// The link before; nil when it is new.
    public var from: Link?
    /// The link now; nil when it is gone.
    public var to: Link?

    /// A change from its parts.
    package init(from: Link?, to: Link?) {
        self.from = from
        self.to = to
    }

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
        return EventProjection("link.changed", .info, message, self.sentence, fields)
    }

    private var sentence: String {
        guard let link = self.to else { return self.from.map { "\($0.name) is gone" } ?? "a link changed" }
        let state =
            link.isUsable
            ? "\(link.name) is usable"
            : link.reason?.description(ofLink: link.name) ?? "\(link.name) leads to no other host"
        return self.from == nil ? "\(link.name) appeared: \(state)" : state
    }
}

/// A check of a configured target has ended.
public struct TargetCheckEvent: Sendable {
    /// The target.
    public var target: Target
    /// What the check did.
    public var kind: TargetCheck.Kind
    /// Why the target was not reached; nil if it was.
    public var failure: TargetCheckReport.Failure?
    /// True if the check before this one found something else, or if this is the first one.
    public var isNews: Bool
    /// When the server's certificate ends; nil if it showed none.
    public var certificateExpiry: WallTime?
    /// How long the phases took that were run.
    package var phases: PhaseDurations

    /// An event from its parts.
    package init(
        target: Target, kind: TargetCheck.Kind, failure: TargetCheckReport.Failure?, isNews: Bool,
        certificateExpiry: WallTime? = nil, phases: PhaseDurations = .init()
    ) {
        (self.target, self.kind, self.failure, self.isNews) = (target, kind, failure, isNews)
        (self.certificateExpiry, self.phases) = (certificateExpiry, phases)
    }

    var projection: EventProjection {
        EventProjection(
            "path.targetChecked", self.isNews ? .debug : .trace,
            self.failure == nil ? "target reached" : "target not reached",
            "\(self.target): "
                + (self.failure.map { "not reached, \($0.text) (\($0.party))" } ?? "reached"),
            [
                .both("target", self.target.description), .both("check", self.kind.rawValue),
                .both("reached", self.failure == nil), .both("reason", .word(self.failure?.reason)),
                .both("party", .word(self.failure?.party)), .both("text", self.failure?.text),
                .both("advice", self.failure.flatMap { $0.advice.isEmpty ? nil : $0.advice }),
                .both("connectSeconds", self.phases.connect, log: "connect"),
                .both("tlsSeconds", self.phases.tls, log: "tls"),
                .both("responseSeconds", self.phases.processing, log: "response"),
                .both("certificateExpiry", self.certificateExpiry?.description, log: "certificate_expiry"),
            ])
    }
}
