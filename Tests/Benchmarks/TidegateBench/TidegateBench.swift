/// Our side of the benchmarks that need a program; ``Usage`` says which there are.
@main
struct TidegateBench {
    static func main() async throws {
        let tokens = Array(CommandLine.arguments.dropFirst())
        switch tokens.first {
        case "gets":
            guard tokens.count == 4, let count = Int(tokens[2]), let inFlight = Int(tokens[3]) else { throw Usage() }
            try await Gets(url: tokens[1], count: count, inFlight: inFlight).run()
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
        default:
            throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = """
        TidegateBench gets URL COUNT IN-FLIGHT | gate ADDRESS | watch | targets COUNT | suspended COUNT \
        | waiting URL COUNT SECONDS | slow URL COUNT | journal DIRECTORY COUNT | publish COUNT | metrics
        """
}
