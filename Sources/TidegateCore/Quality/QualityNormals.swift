/// What is usual on the networks that this host has used: round trips to hosts, and times of targets.
///
/// It is learned from samples while nothing is slow, and kept over restarts.
package struct QualityNormals: Sendable, Hashable {
    /// A host or a target on a network.
    package struct Key: Sendable, Hashable {
        // Interface and router of the way out: the index of an interface changes when the machine starts.
        fileprivate let network: String
        fileprivate let place: String

        fileprivate init(network: String, place: String) { (self.network, self.place) = (network, place) }

        /// A host.
        package init(_ address: IPAddress, on network: String) {
            self.init(network: network, place: address.withoutZone.description)
        }

        /// A target.
        package init(_ target: Target, on network: String) { self.init(network: network, place: "target \(target)") }
    }

    private struct Normal: Sendable, Hashable {
        /// Each stands for a few minutes, a day in all.
        var medians: [Duration] = []
        var samples: [Duration] = []
        var learned: WallTime

        var value: Duration? {
            self.medians.median ?? (self.samples.count < QualityNormals.fewestSamples ? nil : self.samples.median)
        }

        mutating func learn(_ sample: Duration, at time: WallTime) {
            self.learned = time
            self.samples.append(sample)
            guard self.samples.count == QualityNormals.most.samples else { return }
            if let median = self.samples.median { self.medians.append(median) }
            self.samples = []
            if self.medians.count > QualityNormals.most.medians { self.medians.removeFirst() }
        }
    }

    private static let most = (medians: 288, samples: 30, entries: 300)
    private static let fewestSamples = 12
    /// What was learned so many microseconds ago is dropped: 30 days.
    private static let mostAge: Int64 = 30 * 86_400 * 1_000_000

    private var normals: [Key: Normal] = [:]

    /// Nothing is known.
    package init() {}

    /// What is usual there; nil before the twelfth sample.
    package subscript(key: Key) -> Duration? { self.normals[key]?.value }

    /// Adds a sample, taken at `time`.
    package mutating func learn(_ sample: Duration, of key: Key, at time: WallTime) {
        var normal = self.normals[key] ?? Normal(learned: time)
        normal.learn(sample, at: time)
        self.store(normal, key)
    }

    /// Replaces what is usual by what a measurement found at `time`.
    package mutating func replace(_ key: Key, by value: Duration, at time: WallTime) {
        self.store(Normal(medians: [value], learned: time), key)
    }

    private mutating func store(_ normal: Normal, _ key: Key) {
        if self.normals.updateValue(normal, forKey: key) != nil { return }
        self.normals = self.normals.filter { Self.isRecent($0.value.learned, at: normal.learned) }
        guard self.normals.count > Self.most.entries else { return }
        let oldest = self.normals.filter { $0.key != key }.min { $0.value.learned < $1.value.learned }
        if let oldest { self.normals[oldest.key] = nil }
    }

    private static func isRecent(_ time: WallTime, at now: WallTime) -> Bool {
        now.microseconds.subtractingReportingOverflow(time.microseconds).partialValue.magnitude <= UInt64(self.mostAge)
    }

    // MARK: Storage

    /// The stored form; samples are left out, unless they are all that is known.
    package var json: JSONValue {
        let entries = self.normals.compactMap { key, normal -> (key: Key, json: JSONValue)? in
            guard let value = normal.value else { return nil }
            let medians = normal.medians.isEmpty ? [value] : normal.medians
            return (
                key,
                [
                    "network": .string(key.network), "place": .string(key.place),
                    "learned": .integer(normal.learned.microseconds),
                    "microseconds": .array(medians.map { .integer($0.wholeNanoseconds / 1000) }),
                ]
            )
        }
        return .array(entries.sorted { ($0.key.network, $0.key.place) < ($1.key.network, $1.key.place) }.map(\.json))
    }

    /// Reads the stored form at `now`, without entries that are older than 30 days; nil if it is damaged.
    package init?(_ json: JSONValue, at now: WallTime) {
        guard case .array(let entries) = json else { return nil }
        for entry in entries {
            guard let network = entry["network"]?.text, let place = entry["place"]?.text,
                let learned = entry["learned"]?.number.map({ WallTime(microseconds: Int64($0)) }),
                case .array(let values)? = entry["microseconds"], !values.isEmpty
            else { return nil }
            let medians = values.compactMap(\.number).map { Duration.microseconds(Int64($0)) }
            guard medians.count == values.count, medians.allSatisfy({ $0 >= .zero }) else { return nil }
            guard Self.isRecent(learned, at: now) else { continue }
            self.store(
                Normal(medians: medians.suffix(Self.most.medians), learned: learned),
                Key(network: network, place: place))
        }
    }
}
