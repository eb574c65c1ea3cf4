// swift-tools-version: 6.2
import PackageDescription

// Every target: the compiler as a reviewer.
let base: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
// Targets without C: no unsafe expression goes unmarked.
let safe: [SwiftSetting] = base + [.strictMemorySafety()]

// The linker of a release: it folds equal functions, and exports no symbol of a program that nothing is loaded into.
let releaseLinker: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld"]
            + [
                "--icf=safe", "--exclude-libs=ALL", "--no-export-dynamic", "--build-id=sha1", "-z", "now",
                "-z", "pack-relative-relocs",
            ].flatMap { ["-Xlinker", $0] }, .when(configuration: .release))
]

// The commit in 12 hexadecimal digits, `-dirty` behind it if files differ; `make` sets it. SwiftPM's own knowledge of the
// commit (Context.gitInformation) is as old as its cache of this file.
let revision = Context.environment["TIDEGATE_REVISION"] ?? ""
let commit = revision.prefix { $0 != "-" }
let isCommit = commit.count == 12 && commit.allSatisfy(\.isHexDigit)

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP2: Target.Dependency = .product(name: "NIOHTTP2", package: "swift-nio-http2")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let sqlite: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

// The fuzzer is linked by one option of the compiler, which only `Tests/Fuzz/run` sets; a test replays its inputs.
let isFuzzing = Context.environment["TIDEGATE_FUZZING"] != nil
let parsers: [Target.Dependency] = [
    "TidegateCEL", "TidegateCore", "TidegateDaemon", "TidegateMetrics", "TidegateNetwork", "TidegateServer",
    "TidegateSession", "TidegateTransfer", httpTypes,
]
let fuzzing: Target =
    isFuzzing
    ? .executableTarget(
        name: "Fuzz", dependencies: parsers, path: "Tests/Fuzz",
        exclude: ["Corpus", "FuzzTests.swift", "run"], swiftSettings: base)
    : .testTarget(
        name: "FuzzTests", dependencies: parsers, path: "Tests/Fuzz",
        exclude: ["Corpus", "Fuzzer.swift", "run"], swiftSettings: base)

let package = Package(
    name: "tidegate",
    products: [
        .library(name: "Tidegate", targets: ["Tidegate"]),
        .library(name: "TidegateHTTP", targets: ["TidegateHTTP"]),
        .library(name: "TidegateServer", targets: ["TidegateServer"]),
        .library(name: "TidegateStore", targets: ["TidegateStore"]),
        .library(name: "TidegateTracing", targets: ["TidegateTracing"]),
        .library(name: "TidegateTesting", targets: ["TidegateTesting"]),
        .executable(name: "tidegate", targets: ["TidegateCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // Without its default traits it needs neither swift-configuration nor the whole of Foundation.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "CBuild",
            cSettings: [
                .define("TIDEGATE_COMMIT", to: isCommit ? "0x\(commit)" : "0"),
                .define("TIDEGATE_IS_MODIFIED", to: isCommit && revision.hasSuffix("-dirty") ? "1" : "0"),
            ]),
        // C libraries.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CNetlink", pkgConfig: "libnl-route-3.0", providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CIdn2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
        .systemLibrary(name: "CLdns", pkgConfig: "ldns", providers: [.apt(["libldns-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // RE2 is in C++, so that its functions for Swift have to be compiled.
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2"), .linkedLibrary("stdc++")]),
        .systemLibrary(name: "CPsl", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CSnappy", pkgConfig: "snappy", providers: [.apt(["libsnappy-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Values and the event bus; threads.
        .target(name: "TidegateCore", dependencies: ["CIdn2", "CPsl", deque, httpTypes], swiftSettings: safe),
        .target(
            name: "TidegateLoop",
            dependencies: ["TidegateCore", "CLinux", .product(name: "HeapModule", package: "swift-collections")],
            swiftSettings: base),

        // Evidence in; cause, party and advice out.
        .target(name: "TidegateAttribution", dependencies: ["TidegateCore"], swiftSettings: safe),

        // Outages and slow times: events in; records, answers and reports out.
        .target(
            name: "TidegateIncidents", dependencies: ["TidegateAttribution", "TidegateCore"],
            resources: [.embedInCode("Resources/report.html")], swiftSettings: safe),

        // Expressions over JSON documents, and regular expressions over bytes.
        .target(name: "TidegateCEL", dependencies: ["TidegateCore", "CRE2"], swiftSettings: safe),

        // The kernel, the wire, the registry.
        .target(
            name: "TidegateNetwork",
            dependencies: ["TidegateCore", "TidegateLoop", "CNetlink", "CLdns", "CLinux"], swiftSettings: base),
        .target(
            name: "TidegateTransfer",
            dependencies: ["TidegateCore", "TidegateLoop", "CCurl", "COpenSSL", "CZlib", "CLinux", httpTypes],
            swiftSettings: base),
        .target(name: "TidegateMetrics", dependencies: ["TidegateCore", coreMetrics], swiftSettings: safe),

        // What people use.
        .target(
            name: "TidegateReachability",
            dependencies: ["TidegateAttribution", "TidegateCore", "TidegateLoop", "TidegateNetwork"],
            swiftSettings: safe),
        .target(
            name: "TidegateSession",
            dependencies: [
                "TidegateAttribution", "TidegateCore", "TidegateLoop", "TidegateTransfer", deque, httpTypes,
            ], swiftSettings: safe),
        .target(
            name: "TidegateHTTP", dependencies: ["TidegateCore", "TidegateSession", "TidegateTransfer", httpTypes],
            swiftSettings: safe),
        .target(
            name: "TidegateProbes",
            dependencies: [
                "TidegateAttribution", "TidegateCEL", "TidegateCore", "TidegateHTTP", "TidegateNetwork",
                "TidegateSession", "TidegateTransfer", httpTypes,
                nioCore, nioHPACK, nioHTTP2, nioPosix, .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ], swiftSettings: safe),
        .target(
            name: "TidegateConnections",
            dependencies: ["TidegateAttribution", "TidegateCore", "TidegateLoop", "TidegateNetwork"],
            swiftSettings: safe),
        .target(
            name: "Tidegate",
            dependencies: [
                "CBuild", "TidegateConnections", "TidegateCore", "TidegateHTTP", "TidegateLoop", "TidegateMetrics",
                "TidegateNetwork", "TidegateProbes", "TidegateReachability", "TidegateSession", "TidegateTransfer",
                coreMetrics,
            ], swiftSettings: safe),

        // For apps that have spans.
        .target(name: "TidegateTracing", dependencies: ["TidegateCore", httpTypes, tracing], swiftSettings: safe),

        // Endpoint and storage.
        .target(
            name: "TidegateServer",
            dependencies: [
                "TidegateCore", "TidegateIncidents", "TidegateMetrics", "CCrypt", "CLinux", "COpenSSL", "CZlib",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                httpTypes, logging, nioCore, nioPosix, serviceLifecycle,
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ], resources: [.embedInCode("Resources/page.html")], swiftSettings: base),
        .target(
            name: "TidegateStore",
            dependencies: [
                "TidegateCore", "TidegateIncidents", "TidegateLoop", "TidegateMetrics", "TidegateSession", "CSnappy",
                "CZlib", httpTypes, sqlite,
            ], swiftSettings: base),

        // The sidecar and the commands.
        .target(
            name: "TidegateDaemon",
            dependencies: [
                "TidegateCEL", "TidegateCore", "TidegateIncidents", "TidegateLoop", "Tidegate", "TidegateProbes",
                "TidegateServer", "TidegateStore", "CLinux", "Yams", httpTypes, logging, serviceLifecycle,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], swiftSettings: base),
        .executableTarget(
            name: "TidegateCLI",
            dependencies: [
                "TidegateCore", "Tidegate", "TidegateDaemon", "TidegateIncidents", "TidegateMetrics", "TidegateProbes",
                "TidegateServer", "TidegateStore", argumentParser, httpTypes,
            ], swiftSettings: base, linkerSettings: releaseLinker),

        // Doubles for the tests of apps.
        .target(name: "TidegateTesting", dependencies: ["TidegateCore"], swiftSettings: safe),

        // Tests.
        .target(
            name: "TidegateTestKit",
            dependencies: [
                "TidegateCore", "TidegateLoop", "TidegateTesting", "CLinux", httpTypes, nioCore, nioHPACK, nioHTTP2,
                nioPosix,
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/TidegateTestKit", exclude: ["HAR"], swiftSettings: base),
        .testTarget(
            name: "TidegateCoreTests", dependencies: ["TidegateCore", "TidegateTestKit", httpTypes],
            exclude: ["Golden"], swiftSettings: base),
        .testTarget(
            name: "TidegateAttributionTests",
            dependencies: ["TidegateAttribution", "TidegateCore", "TidegateTestKit"],
            exclude: ["Golden", "Recorded/slowness.json"], swiftSettings: base),
        .testTarget(
            name: "TidegateIncidentsTests", dependencies: ["TidegateCore", "TidegateIncidents", "TidegateTestKit"],
            swiftSettings: base),
        .testTarget(name: "TidegateCELTests", dependencies: ["TidegateCEL", "TidegateCore"], swiftSettings: base),
        .testTarget(name: "TidegateLoopTests", dependencies: ["TidegateLoop"], swiftSettings: base),
        .testTarget(
            name: "TidegateNetworkTests", dependencies: ["TidegateNetwork", "TidegateTestKit"], swiftSettings: base),
        .testTarget(
            name: "TidegateReachabilityTests",
            dependencies: ["TidegateAttribution", "TidegateReachability", "TidegateNetwork", "TidegateTestKit"],
            exclude: ["Golden"],
            swiftSettings: base),
        .testTarget(
            name: "TidegateTransferTests",
            dependencies: ["TidegateTransfer", "TidegateTestKit", "CCurl", "CZlib", httpTypes],
            swiftSettings: base),
        .target(
            name: "TidegateSessionTestKit",
            dependencies: ["TidegateCore", "TidegateLoop", "TidegateSession", "TidegateTestKit"],
            path: "Tests/TidegateSessionTestKit", swiftSettings: base),
        .testTarget(
            name: "TidegateSessionTests",
            dependencies: [
                "TidegateSession", "TidegateHTTP", "TidegateTransfer", "TidegateSessionTestKit", httpTypes,
            ],
            swiftSettings: base),
        .testTarget(
            name: "TidegateHTTPTests",
            dependencies: ["TidegateHTTP", "TidegateCore", "TidegateSession", "TidegateSessionTestKit", httpTypes],
            swiftSettings: base),
        .testTarget(
            name: "TidegateProbesTests",
            dependencies: [
                "CLinux", "TidegateCEL", "TidegateLoop", "TidegateNetwork", "TidegateProbes",
                "TidegateSession",
                "TidegateTransfer",
                "TidegateTestKit", "TidegateTesting", httpTypes, nioCore, nioPosix,
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ], swiftSettings: base),
        .testTarget(
            name: "TidegateConnectionsTests",
            dependencies: [
                "CLinux", "TidegateAttribution", "TidegateConnections", "TidegateCore", "TidegateLoop",
                "TidegateNetwork",
                "TidegateTestKit",
            ],
            exclude: ["Golden", "Recorded/endings.txt"], swiftSettings: base),
        .testTarget(
            name: "TidegateTracingTests",
            dependencies: [
                "TidegateTracing", "TidegateSession", "TidegateCore", "TidegateTestKit", httpTypes, tracing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ], swiftSettings: base),
        .testTarget(
            name: "TidegateMetricsTests",
            dependencies: ["TidegateMetrics", "TidegateCore", "TidegateTestKit", coreMetrics],
            exclude: ["Golden", "Oracles/openmetrics.py"], swiftSettings: base),
        .testTarget(
            name: "TidegateServerTests",
            dependencies: [
                "TidegateServer", "TidegateMetrics", "TidegateSession", "TidegateCore", "TidegateIncidents",
                "TidegateLoop", "TidegateTestKit", logging, serviceLifecycle,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOEmbedded", package: "swift-nio"), httpTypes, nioCore,
            ], exclude: ["Golden"], swiftSettings: base),
        .testTarget(
            name: "TidegateDaemonTests",
            dependencies: [
                "TidegateCEL", "TidegateDaemon", "Tidegate", "TidegateProbes", "TidegateServer", "TidegateMetrics",
                "TidegateCore", "TidegateIncidents", "TidegateTestKit", httpTypes, logging,
            ],
            exclude: ["Golden"], swiftSettings: base),
        .testTarget(
            name: "TidegateCLITests",
            dependencies: [
                "TidegateAttribution", "TidegateCLI", "TidegateDaemon", "TidegateIncidents", "TidegateServer",
                "Tidegate",
                "TidegateCore", "TidegateTestKit",
                argumentParser, httpTypes,
            ], swiftSettings: base),
        // Programs that a test kills at each step of what they store.
        .executableTarget(
            name: "JournalCrashHelper",
            dependencies: ["TidegateStore", "TidegateSession", "TidegateLoop", "TidegateTestKit", httpTypes],
            path: "Tests/JournalCrashHelper", swiftSettings: base),
        .executableTarget(
            name: "RemoteWriteCrashHelper",
            dependencies: [
                "TidegateStore", "TidegateLoop", "TidegateMetrics", "TidegateCore", "TidegateSession",
                "TidegateTestKit",
            ], path: "Tests/RemoteWriteCrashHelper", swiftSettings: base),
        .testTarget(
            name: "TidegateStoreTests",
            dependencies: [
                "TidegateStore", "JournalCrashHelper", "RemoteWriteCrashHelper", "TidegateSession", "TidegateLoop",
                "TidegateMetrics", "TidegateCore", "TidegateIncidents", "TidegateTestKit", "TidegateTesting", "CSnappy",
                httpTypes, sqlite,
            ], exclude: ["Golden"], swiftSettings: base),
        .testTarget(
            name: "TidegateTests",
            dependencies: [
                "Tidegate", "TidegateCore", "TidegateNetwork", "TidegateReachability", "TidegateSession",
                "TidegateTransfer", "TidegateTestKit", coreMetrics,
            ], swiftSettings: base),
        .testTarget(name: "HouseRulesTests", swiftSettings: base),
        fuzzing,
        .testTarget(
            name: "EndToEndTests", dependencies: ["TidegateTestKit", "TidegateCLI", httpTypes],
            exclude: ["sandbox.py"], swiftSettings: base),
        .executableTarget(
            name: "TidegateBench",
            dependencies: [
                "Tidegate", "TidegateProbes", "TidegateStore", "TidegateMetrics", "TidegateTestKit", coreMetrics,
                httpTypes,
            ],
            path: "Tests/Benchmarks/TidegateBench", swiftSettings: base),
    ],
    swiftLanguageModes: [.v6]
)
