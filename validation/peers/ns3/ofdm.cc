// 802.11 with OFDM, HT or VHT in ns-3.37, with the error rates of the NIST model and one received
// power for all, or with path loss and fading over a distance: saturated senders around one receiver,
// with categories and aggregates if asked, or broadcasts of one sender, UDP.
//
// One line of JSON goes to standard output.

#include "fading.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string standard = "a";
    std::string channelSettings = "{36, 20, BAND_5GHZ, 0}";
    std::string mode = "OfdmRate6Mbps";
    std::string control = "OfdmRate6Mbps";
    std::string manager = "";
    bool shortGuard = false;
    bool broadcast = false;
    uint32_t antennas = 1;
    uint32_t senders = 1;
    std::string stations = "";
    uint32_t ampdu = 0;
    uint32_t payload = 1472;
    double rss = -40;
    double distance = 0;
    double sense = -101;
    peers::Fading fading;
    double interval = 0.001;
    double warmUp = 1;
    double duration = 11;
    uint64_t run = 1;
    CommandLine commandLine(__FILE__);
    commandLine.AddValue("standard", "a, p, g, n or ac", standard);
    commandLine.AddValue("channel", "ns-3's ChannelSettings", channelSettings);
    commandLine.AddValue("mode", "mode of data frames", mode);
    commandLine.AddValue("control", "mode of RTS", control);
    commandLine.AddValue("manager", "rate control instead of the mode of data, such as Arf", manager);
    commandLine.AddValue("short-guard", "short guard interval", shortGuard);
    commandLine.AddValue("broadcast", "frames are broadcast in the mode of data", broadcast);
    commandLine.AddValue("antennas", "antennas and streams", antennas);
    commandLine.AddValue("senders", "number of senders", senders);
    commandLine.AddValue("stations",
                         "categories of each sender instead of their number, such as BE,VO|BK",
                         stations);
    commandLine.AddValue("ampdu", "largest aggregate of best effort, bytes; 0: none", ampdu);
    commandLine.AddValue("payload", "UDP payload, bytes", payload);
    commandLine.AddValue("rss", "received power, dBm", rss);
    commandLine.AddValue("distance",
                         "instead of one power: path loss over this distance, m",
                         distance);
    commandLine.AddValue("sense", "weakest signal that a radio regards, dBm", sense);
    fading.Register(commandLine);
    commandLine.AddValue("interval", "time between a sender's datagrams, s", interval);
    commandLine.AddValue("warm-up", "begin of the measurement, s", warmUp);
    commandLine.AddValue("duration", "end of the run, s", duration);
    commandLine.AddValue("run", "run number of the random streams", run);
    commandLine.Parse(argc, argv);
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize",
                       QueueSizeValue(QueueSize(ampdu > 0 ? "500p" : "50p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(60)));

    // The sender of each flow, and its type of service, whose upper bits are the user priority.
    const std::map<std::string, uint8_t> types = {{"BK", 0x20},
                                                  {"BE", 0x00},
                                                  {"VI", 0x80},
                                                  {"VO", 0xc0}};
    std::vector<std::pair<uint32_t, uint8_t>> flows;
    std::istringstream all(stations);
    std::string station;
    while (std::getline(all, station, '|'))
    {
        senders = flows.empty() ? 1 : senders + 1;
        std::istringstream own(station);
        std::string category;
        while (std::getline(own, category, ','))
        {
            flows.emplace_back(senders, types.at(category));
        }
    }
    for (uint32_t i = 1; stations.empty() && i <= senders; ++i)
    {
        flows.emplace_back(i, 0);
    }

    NodeContainer nodes(senders + 1);
    MobilityHelper mobility;
    mobility.Install(nodes);
    for (uint32_t i = 1; i <= senders; ++i)
    {
        nodes.Get(i)->GetObject<MobilityModel>()->SetPosition(Vector(distance, 0, 0));
    }
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    if (distance > 0)
    {
        channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel");
    }
    else
    {
        channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(rss));
    }
    fading.Add(channel);
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.SetErrorRateModel("ns3::NistErrorRateModel");
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "Threshold",
                                  DoubleValue(broadcast && distance == 0 ? -10 : 4),
                                  "MinimumRssi",
                                  DoubleValue(-101));
    phy.Set("RxSensitivity", DoubleValue(sense));
    phy.Set("ChannelSettings", StringValue(channelSettings));
    phy.Set("Antennas", UintegerValue(antennas));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(antennas));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(antennas));
    const std::map<std::string, WifiStandard> standards = {{"a", WIFI_STANDARD_80211a},
                                                           {"p", WIFI_STANDARD_80211p},
                                                           {"g", WIFI_STANDARD_80211g},
                                                           {"n", WIFI_STANDARD_80211n},
                                                           {"ac", WIFI_STANDARD_80211ac}};
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(!stations.empty()));
    WifiHelper wifi;
    wifi.SetStandard(standards.at(standard));
    // With flow control alone, ns-3 looks at the type of service.
    if (stations.empty())
    {
        wifi.DisableFlowControl();
    }
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(mode),
                                 "ControlMode",
                                 StringValue(control),
                                 "NonUnicastMode",
                                 StringValue(broadcast ? mode : control));
    if (!manager.empty())
    {
        wifi.SetRemoteStationManager("ns3::" + manager + "WifiManager");
    }
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    if (standard == "n" || standard == "ac")
    {
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HtConfiguration/"
                    "ShortGuardIntervalSupported",
                    BooleanValue(shortGuard));
        // Without a size, single frames, as of a station without aggregation.
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Mac/BE_MaxAmpduSize",
                    UintegerValue(ampdu));
    }
    for (uint32_t i = 0; !stations.empty() && i < devices.GetN(); ++i)
    {
        auto own = DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac();
        for (auto category : {AC_BE, AC_BK, AC_VI, AC_VO})
        {
            own->GetQosTxop(category)->SetTxopLimit(Seconds(0));
        }
    }
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper network("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer addresses = network.Assign(devices);

    std::vector<Ptr<PacketSink>> sinks;
    std::vector<Ptr<UdpClient>> clients;
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        uint16_t port = 5001 + i;
        PacketSinkHelper sink("ns3::UdpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(0)).Get(0)));
        Ipv4Address to = broadcast ? Ipv4Address("10.0.0.255") : addresses.GetAddress(0);
        InetSocketAddress destination(to, port);
        destination.SetTos(flows[i].second);
        UdpClientHelper client(destination);
        client.SetAttribute("MaxPackets", UintegerValue(UINT32_MAX));
        client.SetAttribute("Interval", TimeValue(Seconds(interval)));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        ApplicationContainer application = client.Install(nodes.Get(flows[i].first));
        application.Start(Seconds(0.01 * (i + 1)));
        clients.push_back(DynamicCast<UdpClient>(application.Get(0)));
    }

    std::vector<uint64_t> before;
    uint64_t sentBefore = 0;
    Simulator::Schedule(Seconds(warmUp), [&]() {
        for (const auto& sink : sinks)
        {
            before.push_back(sink->GetTotalRx());
        }
        sentBefore = clients[0]->GetTotalTx();
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    std::printf("{\"measured_s\": %g, \"sent\": %lu, \"packets\": [",
                duration - warmUp,
                static_cast<unsigned long>((clients[0]->GetTotalTx() - sentBefore) / payload));
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        uint64_t packets = (sinks[i]->GetTotalRx() - before[i]) / payload;
        std::printf("%s%lu", i == 0 ? "" : ", ", static_cast<unsigned long>(packets));
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
