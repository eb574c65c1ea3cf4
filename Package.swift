// swift-tools-version: 6.2
import PackageDescription

// Every target: the compiler as a reviewer.
let house: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
// Values, walls and rooms: no unsafe expression goes unmarked, and rooms have none.
let room: [SwiftSetting] = house + [.strictMemorySafety()]

let package = Package(
    name: "tidegate",
    products: [
        .library(name: "Tidegate", targets: ["Tidegate"]),
        .executable(name: "tidegate", targets: ["TidegateCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Ground: C seams, and values.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CNetlink", pkgConfig: "libnl-route-3.0", providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLdns", pkgConfig: "ldns", providers: [.apt(["libldns-dev"])]),
        .systemLibrary(name: "CSnappy", pkgConfig: "snappy", providers: [.apt(["libsnappy-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "TidegateModel", swiftSettings: room),

        // Walls.
        .target(name: "TidegateLoop", dependencies: ["TidegateModel", "CLinux"], swiftSettings: house),
        .target(name: "TidegateBus", dependencies: ["TidegateModel"], swiftSettings: room),

        // Plumbing.
        .target(
            name: "TidegateNetlink", dependencies: ["TidegateModel", "TidegateLoop", "CNetlink"],
            swiftSettings: house),
        .target(
            name: "TidegateSockets", dependencies: ["TidegateModel", "TidegateLoop", "CLinux"], swiftSettings: house),
        .target(
            name: "TidegateResolver", dependencies: ["TidegateModel", "TidegateLoop", "CLdns", "CLinux"],
            swiftSettings: house),
        .target(
            name: "TidegateTransfer", dependencies: ["TidegateModel", "TidegateLoop", "CCurl", "CLinux"],
            swiftSettings: house),
        .target(
            name: "TidegateMetrics",
            dependencies: ["TidegateModel", .product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: room),

        // Rooms.
        .target(
            name: "TidegateReachability",
            dependencies: [
                "TidegateModel", "TidegateBus", "TidegateNetlink", "TidegateResolver", "TidegateSockets",
            ], swiftSettings: room),
        .target(
            name: "TidegateSession",
            dependencies: [
                "TidegateModel", "TidegateBus", "TidegateTransfer", .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: room),

        // Front door.
        .target(
            name: "Tidegate",
            dependencies: [
                "TidegateModel", "TidegateBus", "TidegateLoop", "TidegateMetrics", "TidegateReachability",
                "TidegateResolver", "TidegateSession", "TidegateTransfer",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ], swiftSettings: room),

        // Porch.
        .target(
            name: "TidegateEndpoint",
            dependencies: [
                "TidegateModel", "TidegateBus", "TidegateMetrics", "CCrypt", "CLinux", "CZlib",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ], resources: [.embedInCode("Resources/page.html")], swiftSettings: house),

        .target(
            name: "TidegateJournal",
            dependencies: [
                "TidegateModel", "TidegateLoop", "TidegateSession", .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: house),

        .target(
            name: "TidegateRemoteWrite",
            dependencies: [
                "TidegateModel", "TidegateBus", "TidegateLoop", "TidegateMetrics", "TidegateSession", "CSnappy",
                "CZlib",
            ], swiftSettings: house),

        // Roof.
        .target(
            name: "TidegateControl",
            dependencies: [
                "TidegateModel",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: house),
        .target(
            name: "TidegateDaemon",
            dependencies: [
                "TidegateModel", "Tidegate", "TidegateEndpoint", "TidegateJournal", "TidegateRemoteWrite", "Yams",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], swiftSettings: house),
        .executableTarget(
            name: "TidegateCLI",
            dependencies: [
                "TidegateModel", "Tidegate", "TidegateControl", "TidegateDaemon",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: house),

        // Tests.
        .target(
            name: "TidegateTestKit", dependencies: ["TidegateModel", "TidegateBus", "TidegateLoop", "CLinux"],
            path: "Tests/TidegateTestKit", swiftSettings: house),
        .testTarget(name: "TidegateModelTests", dependencies: ["TidegateModel"], swiftSettings: house),
        .testTarget(name: "TidegateLoopTests", dependencies: ["TidegateLoop"], swiftSettings: house),
        .testTarget(name: "TidegateBusTests", dependencies: ["TidegateBus", "TidegateTestKit"], swiftSettings: house),
        .testTarget(
            name: "TidegateNetlinkTests", dependencies: ["TidegateNetlink", "TidegateTestKit"], swiftSettings: house),
        .testTarget(
            name: "TidegateReachabilityTests",
            dependencies: [
                "TidegateReachability", "TidegateNetlink", "TidegateResolver", "TidegateSockets", "TidegateTestKit",
            ], swiftSettings: house),
        .testTarget(
            name: "TidegateSocketsTests", dependencies: ["TidegateSockets", "TidegateTestKit"], swiftSettings: house),
        .testTarget(
            name: "TidegateResolverTests", dependencies: ["TidegateResolver", "TidegateTestKit"], swiftSettings: house),
        .testTarget(
            name: "TidegateTransferTests", dependencies: ["TidegateTransfer", "TidegateTestKit"], swiftSettings: house),
        .testTarget(
            name: "TidegateSessionTests", dependencies: ["TidegateSession", "TidegateTransfer", "TidegateTestKit"],
            swiftSettings: house),
        .testTarget(
            name: "TidegateMetricsTests",
            dependencies: [
                "TidegateMetrics", "TidegateBus", "TidegateModel", "TidegateTestKit",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            exclude: ["Golden", "Oracles/openmetrics.py"], swiftSettings: house),
        .testTarget(
            name: "TidegateEndpointTests",
            dependencies: [
                "TidegateEndpoint", "TidegateMetrics", "TidegateSession", "TidegateBus", "TidegateModel",
                "TidegateTestKit",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], swiftSettings: house),
        .testTarget(
            name: "TidegateDaemonTests",
            dependencies: [
                "TidegateDaemon", "Tidegate", "TidegateEndpoint", "TidegateMetrics", "TidegateModel", "TidegateTestKit",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: house),
        .testTarget(
            name: "TidegateCLITests",
            dependencies: [
                "TidegateCLI", "TidegateControl", "TidegateDaemon", "Tidegate", "TidegateModel", "TidegateTestKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: house),
        // Lives to be killed at each step that it journals.
        .executableTarget(
            name: "TidegateJournalVictim",
            dependencies: ["TidegateJournal", "TidegateSession", "TidegateBus", "TidegateLoop", "TidegateTestKit"],
            path: "Tests/TidegateJournalVictim", swiftSettings: house),
        .testTarget(
            name: "TidegateJournalTests",
            dependencies: [
                "TidegateJournal", "TidegateJournalVictim", "TidegateSession", "TidegateTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: house),
        .executableTarget(
            name: "TidegateRemoteWriteVictim",
            dependencies: [
                "TidegateRemoteWrite", "TidegateLoop", "TidegateMetrics", "TidegateModel", "TidegateSession",
                "TidegateTestKit",
            ], path: "Tests/TidegateRemoteWriteVictim", swiftSettings: house),
        .testTarget(
            name: "TidegateRemoteWriteTests",
            dependencies: [
                "TidegateRemoteWrite", "TidegateRemoteWriteVictim", "TidegateBus", "TidegateLoop", "TidegateMetrics",
                "TidegateModel", "TidegateSession", "TidegateTestKit",
            ], swiftSettings: house),
        .testTarget(
            name: "TidegateControlTests",
            dependencies: [
                "TidegateControl", "TidegateEndpoint", "TidegateModel", "TidegateBus", "TidegateLoop",
                "TidegateTestKit",
            ], swiftSettings: house),
        .testTarget(name: "TidegateTests", dependencies: ["Tidegate", "TidegateTestKit"], swiftSettings: house),
        .testTarget(name: "HouseRulesTests", swiftSettings: house),
        .testTarget(
            name: "EndToEndTests", dependencies: ["TidegateTestKit", "TidegateCLI"], swiftSettings: house),
        .executableTarget(
            name: "TidegateBench",
            dependencies: [
                "Tidegate", "TidegateJournal", "TidegateMetrics",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            path: "Tests/Benchmarks/TidegateBench", swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)
