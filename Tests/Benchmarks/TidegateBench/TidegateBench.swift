import Tidegate

/// Our side of the benchmarks that need a program; ``Usage`` says which there are.
@main
struct TidegateBench {
    static func main() async throws {
        let tokens = Array(CommandLine.arguments.dropFirst())
        switch tokens.first {
        case "gets":
            try await Self.gets(tokens)
        case "gate":
            guard tokens.count == 2 else { throw Usage() }
            try await Gate(target: tokens[1]).run()
        case "watch":
            guard tokens.count == 1 else { throw Usage() }
            try await Watch().run()
        case "targets":
            guard tokens.count == 2, let count = Int(tokens[1]), count > 0 else { throw Usage() }
            try await Targets(count: count).run()
        case "suspended":
            guard tokens.count == 2, let count = Int(tokens[1]), count > 0 else { throw Usage() }
            try await Suspended(count: count).run()
        case "waiting":
            guard tokens.count == 4, let count = Int(tokens[2]), let seconds = Int(tokens[3]) else { throw Usage() }
            try await Waiting(url: tokens[1], count: count, seconds: seconds).run()
        case "probes":
            guard tokens.count == 4, let count = Int(tokens[2]), let seconds = Int(tokens[3]), count > 0, seconds > 1
            else { throw Usage() }
            try await Probes(url: tokens[1], count: count, seconds: seconds).run()
        case "slow":
            guard tokens.count == 3, let count = Int(tokens[2]), count > 0 else { throw Usage() }
            try await Slow(url: tokens[1], count: count).run()
        case "journal":
            guard tokens.count == 3, let count = Int(tokens[2]), count >= 100 else { throw Usage() }
            try await JournalCommits(directory: tokens[1], count: count).run()
        case "publish":
            guard tokens.count == 2, let count = Int(tokens[1]), count > 0 else { throw Usage() }
            Publish(count: count).run()
        case "metrics":
            guard tokens.count == 1 else { throw Usage() }
            try Metrics().run()
        case "slowNetwork":
            guard tokens.count == 2, let seed = UInt64(tokens[1]) else { throw Usage() }
            try await SlowNetwork(seed: seed).run()
        case "evidence":
            guard tokens.count == 3, let seconds = Int(tokens[2]), seconds > 0 else { throw Usage() }
            try await Evidence(url: tokens[1], time: .seconds(seconds)).run()
        default:
            try await Self.client(tokens)
        }
    }

    private static func gets(_ tokens: [String]) async throws {
        guard (4...5).contains(tokens.count), let count = Int(tokens[2]), let inFlight = Int(tokens[3]) else {
            throw Usage()
        }
        var gets = Gets(url: tokens[1], count: count, inFlight: inFlight)
        if tokens.count == 5 {
            guard tokens[4] == "recording" else { throw Usage() }
            gets.recordsExchanges = true
        }
        try await gets.run()
    }

    /// What the client's parts cost.
    private static func client(_ tokens: [String]) async throws {
        switch tokens.first {
        case "handshakes":
            guard (5...6).contains(tokens.count), let count = Int(tokens[2]), let inFlight = Int(tokens[3]) else {
                throw Usage()
            }
            var gets = Gets(url: tokens[1], count: count, inFlight: inFlight)
            gets.tls = ServerTrustPolicy(caFile: tokens[4], pins: tokens.count == 6 ? ["*": [tokens[5]]] : [:])
            try await gets.run()
        case "query", "json":
            guard tokens.count == 4, let codec = Serialization.Codec(rawValue: tokens[1]), let count = Int(tokens[2]),
                let rounds = Int(tokens[3]), rounds > 0
            else { throw Usage() }
            let serialization = Serialization(codec: codec, count: count, rounds: rounds)
            try tokens[0] == "query" ? serialization.writeQueries() : serialization.readJSON()
        case "upload":
            guard tokens.count == 4, let fields = Int(tokens[3]) else { throw Usage() }
            try await Upload(url: tokens[1], file: tokens[2], fields: fields).run()
        default: throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = """
        TidegateBench gets URL COUNT IN-FLIGHT [recording] | handshakes URL COUNT IN-FLIGHT CA-FILE [PIN] \
        | query tidegate|foundation COUNT ROUNDS | json tidegate|foundation COUNT ROUNDS \
        | upload URL FILE FIELDS | gate ADDRESS | watch | targets COUNT | suspended COUNT \
        | waiting URL COUNT SECONDS | slow URL COUNT | probes URL COUNT SECONDS | journal DIRECTORY COUNT | publish COUNT | metrics \
        | slowNetwork SEED | evidence URL SECONDS
        """
}
